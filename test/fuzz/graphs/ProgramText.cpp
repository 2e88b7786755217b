#include "ProgramText.h"

#include <set>
#include <sstream>

namespace evt::fuzz {

namespace {

using std::to_string;

std::string join(const std::vector<std::string> &parts, const std::string &between = ", ") {
  std::string s;
  for (const std::string &p : parts)
    s += (s.empty() ? "" : between) + p;
  return s;
}

/// The expression over variables and symbols of the given names.
std::string exprText(const Expr &e, const std::vector<std::string> &variables,
                     const std::vector<std::string> &symbols) {
  std::string sum;
  auto add = [&](int factor, const std::string &name) {
    if (!factor)
      return;
    std::string term = factor == 1 ? name : name + " * " + to_string(factor);
    sum += (sum.empty() ? "" : " + ") + term;
  };
  for (size_t i = 0; i < e.variables.size(); ++i)
    add(e.variables[i], variables[i]);
  for (size_t i = 0; i < e.symbols.size(); ++i)
    add(e.symbols[i], symbols[i]);
  if (e.constant || sum.empty())
    sum += sum.empty() ? to_string(e.constant)
                       : (e.constant < 0 ? " - " + to_string(-e.constant) : " + " + to_string(e.constant));
  if (e.divisor != 1)
    sum = "(" + sum + ") floordiv " + to_string(e.divisor);
  if (e.modulus)
    sum = "(" + sum + ") mod " + to_string(e.modulus);
  return sum;
}

std::vector<std::string> numbered(const std::string &prefix, size_t n) {
  std::vector<std::string> names;
  for (size_t i = 0; i < n; ++i)
    names.push_back(prefix + to_string(i));
  return names;
}

std::string memrefType(const Memory &m) {
  std::string s = "memref<";
  for (const Size &d : m.dims)
    s += (d.isConstant() ? to_string(d.plus) : "?") + "x";
  return s + "i32>";
}

std::string tensorType(const std::vector<int> &tile) {
  std::string s = "tensor<";
  for (int t : tile)
    s += to_string(t) + "x";
  return s + "i32>";
}

class Writer {
public:
  Writer(const Model &model, const std::string &name) : model(model), name(name) {}

  std::string text() {
    for (const Call &call : model.calls)
      device(call);
    graph();
    return out.str();
  }

private:
  std::vector<std::string> coordNames(const Call &call) const {
    std::vector<std::string> names = numbered("%i", call.grid.size());
    if (call.inRepeat)
      names.insert(names.begin(), "%l");
    return names;
  }

  std::vector<int> memoriesOf(const Call &call) const {
    std::set<int> used;
    for (const auto *list : {&call.reads, &call.writes})
      for (const Access &a : *list)
        used.insert(a.memory);
    return {used.begin(), used.end()};
  }

  std::vector<std::string> symbolValues() const {
    std::vector<std::string> names;
    for (const std::string &s : model.symbols)
      names.push_back("%" + s);
    return names;
  }

  /// A value holding the expression of a task's coordinates, computed in a line of its own.
  std::string apply(const Expr &e, const std::vector<std::string> &coords, const std::string &indent) {
    std::string value = "%v" + to_string(nextValue++);
    auto dims = numbered("d", coords.size()), syms = numbered("s", model.symbols.size());
    bool usesSymbols = !e.symbols.empty();
    out << indent << value << " = affine.apply affine_map<(" << join(dims) << ")";
    if (usesSymbols)
      out << "[" << join(syms) << "]";
    out << " -> (" << exprText(e, dims, syms) << ")>(" << join(coords) << ")";
    if (usesSymbols)
      out << "[" << join(symbolValues()) << "]";
    out << "\n";
    return value;
  }

  std::string fresh() { return "%v" + to_string(nextValue++); }
  std::string line(const std::string &code) {
    std::string v = fresh();
    out << "  " << v << " = " << code << "\n";
    return v;
  }

  /// x + 3 y + 5 z, times `factor`, plus `plus`, as a tile; empty for a tile of one element without dimensions.
  std::string ramp(const std::vector<int> &tile, int factor, int plus) {
    std::string type = tensorType(tile);
    std::string sum = line("arith.constant dense<" + to_string(plus) + "> : " + type);
    for (size_t d = 0; d < tile.size(); ++d) {
      std::string step = line("arith.constant dense<" + to_string(factor * (d == 0 ? 1 : 2 * static_cast<int>(d) + 1)) +
                              "> : " + type);
      std::string iota = line("evt.iota dim " + to_string(d) + " : " + type);
      std::string scaled = line("arith.muli " + iota + ", " + step + " : " + type);
      sum = line("arith.addi " + sum + ", " + scaled + " : " + type);
    }
    return sum;
  }

  std::string scalar(const std::string &op, const std::string &a, const std::string &b) {
    return line(op + " " + a + ", " + b + " : i32");
  }
  std::string scalarConstant(int64_t v) { return line("arith.constant " + to_string(v) + " : i32"); }

  void device(const Call &call) {
    nextValue = 0;
    std::vector<std::string> params, coords = coordNames(call);
    for (int m : memoriesOf(call))
      params.push_back("%" + model.memories[static_cast<size_t>(m)].name + ": " +
                       memrefType(model.memories[static_cast<size_t>(m)]));
    if (call.inRepeat)
      params.push_back("%l: index");
    for (const std::string &s : symbolValues())
      params.push_back(s + ": index");
    out << "evt.device @" << call.name << "(" << join(params) << ") grid(" << join(numbered("%i", call.grid.size()))
        << ") {\n";
    std::string h = scalarConstant(call.salt);
    for (size_t k = 0; k < coords.size(); ++k) {
      std::string c = line("arith.index_cast " + coords[k] + " : index to i32");
      h = scalar("arith.addi", h, scalar("arith.muli", c, scalarConstant(2 * static_cast<int64_t>(k) + 3)));
    }
    for (const Access &r : call.reads) {
      const Memory &m = model.memories[static_cast<size_t>(r.memory)];
      std::string type = tensorType(r.tile);
      std::string place = offsets(r, coords);
      std::string t = line("evt.load %" + m.name + "[" + place + "] : " + memrefType(m) + " -> " + type);
      std::string weighted = line("arith.muli " + t + ", " + ramp(r.tile, 2, 1) + " : " + type);
      std::string zero = line("arith.constant dense<0> : tensor<i32>");
      std::vector<std::string> dims;
      for (size_t d = 0; d < r.tile.size(); ++d)
        dims.push_back(to_string(d));
      std::string sum = line("linalg.reduce { arith.addi } ins(" + weighted + " : " + type + ") outs(" + zero +
                             " : tensor<i32>) dimensions = [" + join(dims) + "]");
      std::string s = line("tensor.extract " + sum + "[] : tensor<i32>");
      h = scalar("arith.addi", scalar("arith.muli", h, scalarConstant(31)), s);
    }
    for (const Access &w : call.writes) {
      const Memory &m = model.memories[static_cast<size_t>(w.memory)];
      std::string type = tensorType(w.tile);
      std::string place = offsets(w, coords);
      std::string wide = line("tensor.splat " + h + " : " + type);
      std::string value = line("arith.addi " + wide + ", " + ramp(w.tile, 7, 0) + " : " + type);
      out << "  evt.store " << value << ", %" << m.name << "[" << place << "] : " << type << " -> " << memrefType(m)
          << "\n";
    }
    out << "}\n";
  }

  std::string offsets(const Access &a, const std::vector<std::string> &coords) {
    std::vector<std::string> values;
    for (const Expr &e : a.offset)
      values.push_back(apply(e, coords, "  "));
    return join(values);
  }

  /// A value of the graph that holds a size.
  std::string size(const Size &s) {
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] == s)
        return "%z" + to_string(i);
    sizes.push_back(s);
    std::string value = "%z" + to_string(sizes.size() - 1);
    if (s.isConstant()) {
      out << "  " << value << " = arith.constant " << s.plus << " : index\n";
    } else {
      std::string sum = "s0 * " + to_string(s.factor) + " + " + to_string(s.plus);
      out << "  " << value << " = affine.apply affine_map<()[s0] -> ((" << sum << ") ceildiv " << s.divisor << ")>()[%"
          << model.symbols[static_cast<size_t>(s.symbol)] << "]\n";
    }
    return value;
  }

  void graph() {
    std::vector<std::string> params;
    for (const Memory &m : model.memories)
      if (m.role != Memory::Buffer)
        params.push_back("%" + m.name + ": " + memrefType(m) + (m.role == Memory::Input ? " {evt.immutable}" : ""));
    for (size_t s = 0; s < model.symbols.size(); ++s)
      if (!model.isDimension(static_cast<int>(s)))
        params.push_back("%" + model.symbols[s] + ": index {evt.min = 0, evt.max = 100000}");
    out << "evt.graph @" << name << "(" << join(params) << ") {\n";
    for (size_t s = 0; s < model.symbols.size(); ++s)
      if (model.isDimension(static_cast<int>(s)))
        symbol(static_cast<int>(s));
    for (const Memory &m : model.memories)
      if (m.role == Memory::Buffer) {
        std::vector<std::string> operands;
        for (const Size &d : m.dims)
          if (!d.isConstant())
            operands.push_back(size(d));
        out << "  %" << m.name << " = evt.alloc(" << join(operands) << ") : " << memrefType(m) << "\n";
      }
    for (const Event &e : model.events)
      event(e);
    // All sizes are defined before the calls: a repeat's block would hide one defined inside it from later calls.
    for (const Call &call : model.calls)
      for (const Size &s : call.grid)
        size(s);
    size(model.repeat);
    bool open = false;
    for (const Call &call : model.calls) {
      if (call.inRepeat && !open)
        out << "  evt.repeat %l to " << size(model.repeat) << " {\n";
      if (!call.inRepeat && open)
        out << "  }\n";
      open = call.inRepeat;
      this->call(call);
    }
    out << (open ? "  }\n}\n" : "}\n");
  }

  void symbol(int s) {
    std::vector<std::string> places, types;
    for (const Memory &m : model.memories)
      if (m.role != Memory::Buffer)
        for (size_t d = 0; d < m.dims.size(); ++d)
          if (m.dims[d].isSymbol() && m.dims[d].symbol == s) {
            places.push_back("%" + m.name + "[" + to_string(d) + "]");
            types.push_back(memrefType(m));
          }
    const std::string &n = model.symbols[static_cast<size_t>(s)];
    out << "  %" << n << " = evt.symbol \"" << n << "\" (" << join(places) << ") : " << join(types) << "\n";
  }

  void event(const Event &e) {
    std::vector<std::string> extents, marks(e.dims.size(), "?"), terms;
    for (const Size &d : e.dims)
      extents.push_back(size(d));
    auto names = numbered("e", e.dims.size()), syms = numbered("s", model.symbols.size());
    bool usesSymbols = false;
    for (const Expr &t : e.count) {
      terms.push_back(exprText(t, names, syms));
      usesSymbols |= !t.symbols.empty();
    }
    out << "  %" << e.name << " = evt.event(" << join(extents) << ") count(";
    if (!usesSymbols && e.count.size() == 1 && e.count[0].onlyVariable() < 0)
      out << e.count[0].constant << ")";
    else
      out << "(" << join(names) << ")[" << join(syms) << "] -> (" << join(terms) << "))(" << join(symbolValues())
          << ")";
    out << " : !evt.event<" << join(marks, "x") << ">\n";
  }

  bool fitsShorthand(const Call &call) const {
    for (const auto *list : {&call.waits, &call.notifies})
      for (const EventUse &u : *list)
        for (const Span &s : u.spans)
          if (!s.lower.symbols.empty() || (s.upper && !s.upper->symbols.empty()))
            return false;
    return model.shorthand;
  }

  std::string mapText(const Call &call, const EventUse &use) {
    std::vector<std::string> names = numbered("i", call.grid.size()), spans;
    if (call.inRepeat)
      names.insert(names.begin(), "l");
    for (const Span &s : use.spans) {
      std::string text = s.whole ? "*" : exprText(s.lower, names, {});
      if (s.upper)
        text += " to " + exprText(*s.upper, names, {});
      spans.push_back(text);
    }
    return "%" + model.events[static_cast<size_t>(use.event)].name + "[(" + join(names) + ") -> (" + join(spans) + ")]";
  }

  void use(const char *op, const EventUse &use, const std::vector<std::string> &coords) {
    const Event &event = model.events[static_cast<size_t>(use.event)];
    std::vector<std::string> spans;
    for (size_t d = 0; d < use.spans.size(); ++d) {
      const Span &s = use.spans[d];
      if (s.whole) {
        spans.push_back(apply(constantExpr(0), coords, "    ") + " to " + size(event.dims[d]));
        continue;
      }
      std::string text = apply(s.lower, coords, "    ");
      if (s.upper)
        text += " to " + apply(*s.upper, coords, "    ");
      spans.push_back(text);
    }
    out << "    evt." << op << " %" << event.name << "[" << join(spans) << "]\n";
  }

  void call(const Call &call) {
    std::vector<std::string> args, types, grid, coords = coordNames(call);
    for (int m : memoriesOf(call)) {
      args.push_back("%" + model.memories[static_cast<size_t>(m)].name);
      types.push_back(memrefType(model.memories[static_cast<size_t>(m)]));
    }
    if (call.inRepeat) {
      args.push_back("%l");
      types.push_back("index");
    }
    for (const std::string &s : symbolValues()) {
      args.push_back(s);
      types.push_back("index");
    }
    bool maps = fitsShorthand(call) || (call.waits.empty() && call.notifies.empty());
    for (size_t i = 0; i < call.grid.size(); ++i)
      grid.push_back((maps ? "" : "%i" + to_string(i) + " to ") + size(call.grid[i]));
    out << "  evt.call @" << call.name << "(" << join(args) << ") grid(" << join(grid) << ")";
    if (maps) {
      for (auto [keyword, list] : {std::pair{"wait", &call.waits}, {"notify", &call.notifies}}) {
        std::vector<std::string> uses;
        for (const EventUse &u : *list)
          uses.push_back(mapText(call, u));
        if (!uses.empty())
          out << "\n    " << keyword << "(" << join(uses, ",\n         ") << ")";
      }
      out << "\n    : (" << join(types) << ")\n";
      return;
    }
    out << " : (" << join(types) << ") {\n";
    nextValue = 0;
    for (const EventUse &u : call.waits)
      use("wait", u, coords);
    for (const EventUse &u : call.notifies)
      use("notify", u, coords);
    out << "  }\n";
  }

  const Model &model;
  std::string name;
  std::ostringstream out;
  std::vector<Size> sizes;
  int nextValue = 0;
};

} // namespace

std::string programText(const Model &model, const std::string &name) { return Writer(model, name).text(); }

} // namespace evt::fuzz
