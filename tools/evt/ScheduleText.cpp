#include "tools/evt/ScheduleText.h"

#include "tools/evt/Words.h"

namespace evt::tool {
namespace {

using Json = nlohmann::ordered_json;

/// A manifest's expression as one would write it: ["*", "n", 4] is n * 4.
std::string expression(const Json &json, bool nested = false) {
  if (json.is_string())
    return json.get<std::string>();
  if (!json.is_array())
    return json.dump();
  std::string op = json[0], text;
  if (op == "max" && json[2] == 0)
    return expression(json[1], nested); // a size below 0 means none
  if (op == "min" || op == "max")
    return op + "(" + expression(json[1]) + ", " + expression(json[2]) + ")";
  text = expression(json[1], true) + " " + op + " " + expression(json[2], true);
  return nested ? "(" + text + ")" : text;
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
      continue;
    if (ragged || (!ordered && walk.inside.empty()))
      walk.shared.push_back(coords[d]);
    else
      (walk.shared.empty() ? walk.before : walk.inside).push_back(coords[d]);
  }
  return walk;
}

/// One call, with what each schedule does with its tasks.
std::string callText(const Json &call, unsigned iterations, const std::vector<bool> &carried) {
  std::vector<std::string> coords = call["coords"], extents;
  for (const Json &extent : call["extents"])
    extents.push_back(expression(extent));
  std::string text = "\n" + call["name"].get<std::string>() + "(" + joined(coords) +
                     "): " + (extents.empty() ? "1 task" : joined(extents, " x ") + " tasks") + "\n";
  bool ragged = call.contains("ragged");
  if (ragged) {
    size_t first = call["ragged"]["first"];
    text += "  ragged   pairs (" + coords[first] + ", " + coords[first + 1] + ") are read from a table, at most " +
            expression(call["ragged"]["bound"]) + " of them\n";
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
  text += "  static   supported\n  ticket   supported\n  dynamic  ";
  text += refusal.empty() ? "supported; queue of at most " + expression(manifest["queue_bound"]) + " tasks\n"
                          : "not supported: " + refusal + "\n";
  for (unsigned k = 0; k < manifest["calls"].size(); ++k)
    text += callText(manifest["calls"][k], graph.iterations(k), facts.carried[k]);
  return text;
}

} // namespace evt::tool
