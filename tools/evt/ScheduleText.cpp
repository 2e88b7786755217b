#include "tools/evt/ScheduleText.h"

#include "tools/evt/Words.h"

namespace evt::tool {
namespace {

using Json = nlohmann::ordered_json;

int precedenceOf(const Json &json) {
  if (!json.is_array() || json[0] == "min" || json[0] == "max")
    return 3;
  return json[0] == "+" || json[0] == "-" ? 1 : 2;
}

/// A manifest's expression as one would write it: ["+", ["*", "n", 4], "n"] is n * 4 + n.
std::string expression(const Json &json) {
  if (json.is_string())
    return json.get<std::string>();
  if (!json.is_array())
    return json.dump();
  std::string op = json[0];
  if (op == "min" || op == "max")
    return op + "(" + expression(json[1]) + ", " + expression(json[2]) + ")";
  auto operand = [&](const Json &child, bool parentheses) {
    return parentheses ? "(" + expression(child) + ")" : expression(child);
  };
  int mine = precedenceOf(json), left = precedenceOf(json[1]), right = precedenceOf(json[2]);
  bool leftApart = left < mine || (left == mine && mine == 2 && json[1][0] != op);
  bool rightApart = right < mine || (right == mine && (op != json[2][0] || (op != "+" && op != "*")) && right < 3);
  return operand(json[1], leftApart) + " " + op + " " + operand(json[2], rightApart);
}

/// Sizes below 0 mean none, which people need not be told: max(e, 0) is e.
Json withoutClamps(const Json &json) {
  if (!json.is_array())
    return json;
  if (json[0] == "max" && json[2] == 0)
    return withoutClamps(json[1]);
  return Json::array({json[0], withoutClamps(json[1]), withoutClamps(json[2])});
}

std::string size(const Json &json) { return expression(withoutClamps(json)); }

/// "n x 4 tasks"
std::string tasksText(const Json &extents) {
  std::vector<std::string> factors;
  for (const Json &extent : extents)
    factors.push_back(precedenceOf(withoutClamps(extent)) < 3 && extents.size() > 1 ? "(" + size(extent) + ")"
                                                                                    : size(extent));
  std::string text = joined(factors, " x ");
  return text.empty() || text == "1" ? "1 task" : text + " tasks";
}

/// The coordinates of a call as the static schedule walks them, outermost first.
struct Walk {
  std::vector<std::string> before; // every worker, in order
  std::vector<std::string> shared; // split among the workers
  std::vector<std::string> inside; // one worker, in order
  std::vector<std::string> carried;
};

Walk walkOf(const std::vector<std::string> &coords, unsigned iterations, const std::vector<bool> &carried,
            bool ragged) {
  Walk walk;
  for (size_t d = 0; d < coords.size(); ++d) {
    bool ordered = carried[d];
    if (ordered)
      walk.carried.push_back(coords[d]);
    if (d < iterations)
      walk.before.push_back(coords[d]);
    else if (ragged || (!ordered && walk.inside.empty()))
      walk.shared.push_back(coords[d]);
    else
      (walk.shared.empty() ? walk.before : walk.inside).push_back(coords[d]);
  }
  return walk;
}

/// One call, with what each schedule does with its tasks.
std::string callText(const Json &call, unsigned iterations, const std::vector<bool> &carried) {
  std::vector<std::string> coords = call["coords"];
  std::string text =
      "\n" + call["name"].get<std::string>() + "(" + joined(coords) + "): " + tasksText(call["extents"]) + "\n";
  bool ragged = call.contains("ragged");
  if (ragged) {
    size_t first = call["ragged"]["first"];
    text += "  ragged   pairs (" + coords[first] + ", " + coords[first + 1] + ") are read from a table, at most " +
            size(call["ragged"]["bound"]) + " of them\n";
  }
  Walk walk = walkOf(coords, iterations, carried, ragged);
  text +=
      "  carried  " + (walk.carried.empty() ? "none: the call does not depend on itself" : joined(walk.carried)) +
      "\n  static   " + (walk.before.empty() ? "" : joined(walk.before) + " in order; ") +
      (walk.shared.empty() ? "one worker runs it" : "workers share " + joined(walk.shared, " x ") + ", a range each") +
      (walk.inside.empty() ? "" : "; inside, " + joined(walk.inside) + " in order") + "\n";
  return text + (walk.shared.empty() ? "  ticket   up to 64 tasks a number: they form a chain\n"
                                     : "  ticket   1 to 64 neighbouring tasks a number, at least 8 numbers a worker if "
                                       "there are that many\n");
}

} // namespace

std::string scheduleText(const emit::GraphCode &graph, const Json &manifest, const emit::ScheduleFacts &facts) {
  std::string text = "graph " + manifest["graph"].get<std::string>() + ": " +
                     counted(manifest["calls"].size(), "call") + ", " + counted(manifest["events"].size(), "event") +
                     "\n";
  std::string refusal = facts.dynamicRefusal();
  for (const char *name : {"static", "ticket"})
    text += std::string("  ") + name + "   " +
            (facts.wants(name) ? "supported" : std::string("not supported: ") + emit::notWanted) + "\n";
  text += "  dynamic  ";
  text += refusal.empty() ? "supported; queue of at most " + size(manifest["queue_bound"]) + " tasks\n"
                          : "not supported: " + refusal + "\n";
  for (unsigned k = 0; k < manifest["calls"].size(); ++k)
    text += callText(manifest["calls"][k], graph.iterations(k), facts.carried[k]);
  return text;
}

} // namespace evt::tool
