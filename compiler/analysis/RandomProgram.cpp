#include "compiler/analysis/RandomProgram.h"

#include "compiler/analysis/TestPrograms.h"

namespace evt::test {

std::string Form::text() const {
  return std::to_string(a) + " * i + " + std::to_string(b) + " * j + " + std::to_string(d);
}

bool Program::countRestsOnData(int event) const {
  for (const ProgramCall &call : calls)
    for (const Use &use : call.notifies)
      if (use.target == event && (!use.exact || call.ragged))
        return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Generation
//===----------------------------------------------------------------------===//

namespace {

class Generator {
public:
  Generator(unsigned seed, bool withData) : random(seed), withData(withData) {}

  Program program() {
    Program result;
    result.repeated = chance(40);
    int calls = between(1, 3);
    for (int m = between(1, 2); m > 0; --m)
      result.memories.push_back({chance(50), between(1, 4)});
    for (int c = 0; c < calls; ++c) {
      ProgramCall call;
      call.rows = chance(70) ? Extent{true, 0} : Extent{false, between(1, 3)};
      call.columns = chance(60) ? Extent{false, 1} : Extent{false, between(2, 3)};
      call.ragged = withData && chance(15);
      for (int a = between(1, 2); a > 0; --a) {
        Use use{between(0, static_cast<int>(result.memories.size()) - 1), form(), between(1, 2), chance(50)};
        use.exact = !withData || chance(75);
        call.accesses.push_back(use);
      }
      result.calls.push_back(call);
    }
    for (int from = 0; from < calls; ++from)
      for (int to = 0; to < calls; ++to)
        if (from < to ? chance(75) : chance(result.repeated || from == to ? 40 : 3))
          addEvent(result, from, to);
    for (ProgramCall &call : result.calls)
      for (Use &use : call.accesses)
        if (!use.write && !call.waits.empty() && chance(10))
          use.afterWaits = between(0, static_cast<int>(call.waits.size()) - 1);
    if (!result.events.empty() && chance(5))
      result.wrongCount = between(0, static_cast<int>(result.events.size()) - 1);
    if (result.wrongCount >= 0 && result.countRestsOnData(result.wrongCount))
      result.wrongCount = -1;
    return result;
  }

private:
  bool chance(int percent) { return between(1, 100) <= percent; }
  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
  Form form() { return {chance(70) ? 1 : between(-1, 2), chance(70) ? 0 : 1, chance(70) ? 0 : between(-1, 1)}; }

  /// An event inside one call or from a later call orders iterations.
  void addEvent(Program &program, int from, int to) {
    Use notify, wait;
    notify.target = wait.target = static_cast<int>(program.events.size());
    int style = between(0, 3);
    if (style == 0 && from < to && !program.repeated) { // one element for everything
      program.events.push_back({false, 1});
    } else if (style <= 2) { // one element a row
      program.events.push_back({true, 2});
      notify.form = {1, 0, 0};
      int shift = from < to ? between(-1, 0) : -1;
      wait.form = {1, 0, chance(90) ? shift : 0};
      wait.length = between(1, 1 - shift);
      if (!program.repeated && from < to && chance(40)) {
        wait.form = {0, 0, 0};
        wait.length = 6;
      }
    } else { // anything
      program.events.push_back({true, between(1, 4)});
      notify.form = form();
      wait.form = form();
      wait.length = between(1, 3);
    }
    if (withData && chance(25)) {
      notify.exact = false;
      notify.length = between(1, 3);
    }
    wait.exact = !withData || chance(90);
    program.calls[static_cast<size_t>(from)].notifies.push_back(notify);
    program.calls[static_cast<size_t>(to)].waits.push_back(wait);
  }

  std::mt19937 random;
  bool withData;
};

std::string relation(int call, char kind, const Use &use) {
  return "{ C" + std::to_string(call) + "[i, j] -> " + kind + std::to_string(use.target) + "[e] : " + use.form.text() +
         " <= e < " + use.form.text() + " + " + std::to_string(use.length) + " }";
}

std::string countText(const Program &program, int event, const std::string &name) {
  std::string count;
  for (int n = smallestN; n <= largestN; ++n) {
    Instance instance(program, n, 0);
    for (int element = 0; element < program.events[static_cast<size_t>(event)].at(n); ++element) {
      int value = instance.notifications(event, element) + (program.wrongCount == event && element == 0);
      count += (count.empty() ? "" : "; ") + name + "[e] -> " + std::to_string(value) + " : n = " + std::to_string(n) +
               " and e = " + std::to_string(element);
    }
  }
  return "{ " + count + " }";
}

} // namespace

Program randomProgram(unsigned seed, bool withData) { return Generator(seed, withData).program(); }

TaskGraph toGraph(const Program &program) {
  GraphText text;
  text.symbol("n", smallestN, largestN);
  for (size_t memory = 0; memory < program.memories.size(); ++memory)
    text.memory("m" + std::to_string(memory),
                "{ M" + std::to_string(memory) + "[e] : 0 <= e < " + program.memories[memory].text() + " }");
  for (size_t event = 0; event < program.events.size(); ++event) {
    std::string tuple = "E" + std::to_string(event), name = "e" + std::to_string(event);
    std::string shape = "{ " + tuple + "[e] : 0 <= e < " + program.events[event].text() + " }";
    if (program.countRestsOnData(static_cast<int>(event)))
      text.eventFromMemory(name, shape, "counts[e]");
    else
      text.event(name, shape, countText(program, static_cast<int>(event), tuple));
  }
  for (size_t c = 0; c < program.calls.size(); ++c) {
    const ProgramCall &call = program.calls[c];
    int index = static_cast<int>(c);
    std::string tuple = "C" + std::to_string(c);
    std::string place = program.repeated ? "[0, i, " + std::to_string(c) + ", j]" : "[" + std::to_string(c) + ", i, j]";
    text.call("c" + std::to_string(c), {"i", "j"},
              "{ " + tuple + "[i, j] : 0 <= i < " + call.rows.text() + " and 0 <= j < " + call.columns.text() + " }",
              "{ " + tuple + "[i, j] -> " + place + " }");
    if (program.repeated)
      text.graph.calls.back().iterationDims = 1;
    if (call.ragged)
      text.ragged();
    auto addAccesses = [&](int afterWaits) {
      for (const Use &use : call.accesses)
        if (use.afterWaits == afterWaits) {
          if (use.write)
            text.writes(relation(index, 'M', use), use.exact);
          else
            text.reads(relation(index, 'M', use), use.exact);
        }
    };
    for (size_t wait = 0; wait < call.waits.size(); ++wait) {
      addAccesses(static_cast<int>(wait));
      text.waits(relation(index, 'E', call.waits[wait]), call.waits[wait].exact);
    }
    addAccesses(-1);
    for (const Use &use : call.notifies)
      text.notifies(relation(index, 'E', use), use.exact);
  }
  return text.graph;
}

//===----------------------------------------------------------------------===//
// Running with loops
//===----------------------------------------------------------------------===//

Instance::Instance(const Program &program, int n, unsigned dataSeed) : program(program), n(n), random(dataSeed) {
  int calls = static_cast<int>(program.calls.size());
  auto columns = [&](int call) { return program.calls[static_cast<size_t>(call)].columns.at(n); };
  auto add = [&](int call, int i) {
    for (int j = 0; j < columns(call); ++j)
      if (!program.calls[static_cast<size_t>(call)].ragged || random() % 3 != 0)
        runs.push_back(runTask(call, i, j));
  };
  constexpr int mostRows = 8;
  if (program.repeated) {
    for (int i = 0; i < mostRows; ++i)
      for (int c = 0; c < calls; ++c)
        if (program.rowExists(c, i, n))
          add(c, i);
  } else {
    for (int c = 0; c < calls; ++c)
      for (int i = 0; program.rowExists(c, i, n); ++i)
        add(c, i);
  }
  before.assign(runs.size(), std::vector<char>(runs.size(), 0));
  for (size_t a = 0; a < runs.size(); ++a)
    for (size_t b = 0; b < runs.size(); ++b)
      for (const Touch &notify : runs[a].notifies)
        for (const Touch &wait : runs[b].waits)
          for (int element : notify.elements)
            if (notify.target == wait.target && wait.elements.count(element)) {
              backward |= a >= b;
              before[a][b] = 1;
            }
  for (size_t c = 0; c < runs.size(); ++c)
    for (size_t a = 0; a < runs.size(); ++a)
      for (size_t b = 0; before[a][c] && b < runs.size(); ++b)
        before[a][b] |= before[c][b];
}

Instance::Run Instance::runTask(int callIndex, int i, int j) {
  const ProgramCall &call = program.calls[static_cast<size_t>(callIndex)];
  auto clipped = [&](const Use &use, int extent) {
    std::set<int> elements;
    int first = use.form.at(i, j);
    for (int element = first; element < first + use.length; ++element)
      if (0 <= element && element < extent)
        elements.insert(element);
    return elements;
  };
  auto someOf = [&](std::set<int> elements) {
    std::erase_if(elements, [&](int) { return random() % 2 == 0; });
    return elements;
  };
  Run run{callIndex, i, j, {}, {}, {}};
  for (const Use &use : call.waits) {
    std::set<int> elements = clipped(use, program.events[static_cast<size_t>(use.target)].at(n));
    run.waits.push_back({use.target, use.exact ? elements : someOf(elements), false, 0});
  }
  for (const Use &use : call.accesses) {
    std::set<int> elements = clipped(use, program.memories[static_cast<size_t>(use.target)].at(n));
    int waits = use.afterWaits < 0 ? static_cast<int>(call.waits.size()) : use.afterWaits;
    run.accesses.push_back({use.target, use.exact ? elements : someOf(elements), use.write, waits});
  }
  for (const Use &use : call.notifies) {
    std::set<int> elements = clipped(use, program.events[static_cast<size_t>(use.target)].at(n));
    if (use.exact) {
      outside |= static_cast<int>(elements.size()) < use.length;
    } else if (elements.empty()) {
      outside = true;
    } else {
      elements = {*std::next(elements.begin(), static_cast<long>(random() % elements.size()))};
    }
    run.notifies.push_back({use.target, elements, false, 0});
  }
  return run;
}

int Instance::notifications(int event, int element) const {
  int number = 0;
  for (const Run &run : runs)
    for (const Touch &notify : run.notifies)
      number += notify.target == event && notify.elements.count(element);
  return number;
}

bool Instance::miscounted() const {
  return program.wrongCount >= 0 && program.events[static_cast<size_t>(program.wrongCount)].at(n) > 0;
}

/// Whether a chain leads from `first` to what `second` does after its first `waits` waits.
bool Instance::ordered(size_t first, size_t second, int waits) const {
  for (size_t link = 0; link < runs.size(); ++link) {
    if (link != first && !before[first][link])
      continue;
    for (const Touch &notify : runs[link].notifies)
      for (int wait = 0; wait < waits; ++wait)
        for (int element : notify.elements) {
          const Touch &waited = runs[second].waits[static_cast<size_t>(wait)];
          if (waited.target == notify.target && waited.elements.count(element))
            return true;
        }
  }
  return false;
}

template <typename Visit> void Instance::forEachUnordered(bool directOnly, Visit visit) const {
  for (size_t a = 0; a < runs.size(); ++a)
    for (size_t b = a + 1; b < runs.size(); ++b)
      for (const Touch &first : runs[a].accesses)
        for (const Touch &second : runs[b].accesses) {
          if (first.target != second.target || (!first.write && !second.write))
            continue;
          for (int element : first.elements) {
            if (!second.elements.count(element) || ordered(a, b, second.afterWaits))
              continue;
            bool direct = true;
            for (size_t c = a + 1; c < b; ++c)
              for (const Touch &between : runs[c].accesses)
                direct &= !(between.write && between.target == first.target && between.elements.count(element));
            if (direct || !directOnly)
              visit(runs[a].call, runs[b].call, first.target);
          }
        }
}

std::set<std::tuple<int, int, int>> Instance::unorderedDirect() const {
  std::set<std::tuple<int, int, int>> result;
  forEachUnordered(true, [&](int source, int sink, int memory) { result.insert({source, sink, memory}); });
  return result;
}

bool Instance::anyUnordered() const {
  bool found = false;
  forEachUnordered(false, [&](int, int, int) { found = true; });
  return found;
}

} // namespace evt::test
