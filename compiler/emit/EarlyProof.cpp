// The proof behind early rows: the program's model, in which early tasks wait for no more than what they acquire, and
// places are memories.
//
// A place's word is cleared, written, read and cleared again. Readers and the writer need no order among them, since a
// word tells whether it is there; both must come after the clearing before and before the clearing after. So the model
// says that generation g *reads* its place, by whom it is written and by whom it is read, and *writes* that of g + 1,
// which it clears. There are three places, so that one is also the place that g - 2 had: it *writes* that, too. With
// that, everything is a dependence like any other, and a place is known by its generation: three of them in turn would
// say the same with remainders, of which the prover had a quarter more to do.
#include "EarlyRows.h"
#include "ModelText.h"

#include "compiler/analysis/Verify.h"
#include "compiler/analysis/extract/Extract.h"

using namespace mlir;

namespace evt::emit {

namespace {

constexpr int64_t placeCount = 3; // device/common/early.h

std::string num(int64_t n) { return std::to_string(n); }

class Model {
public:
  Model(const GraphCode &graph, const EarlyRows &early, TaskGraph &tasks) : graph(graph), early(early), tasks(tasks) {}

  /// Why some word might be read, or written, that no generation before has cleared, or that this one does not write.
  std::string uncovered() const {
    for (const auto &[memory, tensor] : early.tensors) {
      std::string name = signature().memoryName(memory);
      isl::set written;
      for (unsigned w : tensor.writers) {
        isl::set elements = elementsOf(w, memory, true, tasks.calls[w].domain);
        if (written.is_null())
          written = elements;
        if (!elements.is_equal(written))
          return "not all who write " + name + " write the same of it";
      }
      for (unsigned k = 0; k < tasks.calls.size(); ++k)
        if (early.isEarly(k) && llvm::is_contained(early.readers[k].memories, memory)) {
          std::string found = text(early.readers[k].generation, tensor);
          isl::set early = tasks.calls[k].domain.intersect(tasksWhere(k, found + " >= 0"));
          if (!elementsOf(k, memory, false, early).is_subset(written))
            return "more of " + name + " is read than written";
        }
    }
    return "";
  }

  void apply() {
    std::vector<std::vector<EventUse>> waits;
    for (const Call &call : tasks.calls)
      waits.push_back(call.waits);
    for (const auto &[memory, tensor] : early.tensors)
      addPlaces(memory, tensor);
    for (unsigned k = 0; k < tasks.calls.size(); ++k)
      if (early.isEarly(k))
        borrow(k, waits);
  }

private:
  const ir::Signature &signature() const { return graph.signature; }

  std::string parameters() const { return symbolsText(graph); }
  std::string taskOf(unsigned k) const { return taskText(graph, k); }
  std::string extentOf(ir::RepeatOp repeat) const {
    if (auto n = ir::constantOf(repeat.getExtent()))
      return num(*n);
    return signature().symbols[signature().symbolOf(repeat.getExtent())].name;
  }
  std::string text(Generation g, const EarlyRows::Tensor &tensor) const {
    std::string s = num(g.constant);
    if (g.perIteration)
      s += " + " + num(g.perIteration) + " * " + coordinateText("l0");
    if (g.perRepeat)
      s += " + " + num(g.perRepeat) + " * " + extentOf(tensor.repeat);
    return "(" + s + ")";
  }
  isl::set tasksWhere(unsigned k, const std::string &condition) const {
    return isl::set(tasks.ctx(), parameters() + "{ " + taskOf(k) + " : " + condition + " }");
  }

  /// What tasks of a call read or write of a memory.
  isl::set elementsOf(unsigned k, unsigned memory, bool write, const isl::set &which) const {
    isl::set elements = isl::set::empty(tasks.memories[memory].shape.space());
    for (const Access &access : tasks.calls[k].accesses)
      if (access.memory == (int)memory && access.write == write)
        elements = elements.unite(access.relation.intersect_domain(which).range());
    return elements.intersect_params(tasks.context);
  }

  /// The accessed elements, in the place of a generation.
  isl::map inPlace(unsigned k, const isl::map &elements, const std::string &generation, unsigned places) const {
    isl::map place = mapOf(tasks.ctx(), parameters() + "{ " + taskOf(k) + " -> [p'] : p' = " + generation + " }");
    isl::map both =
        isl::manage(checked(tasks.ctx(), isl_map_flat_range_product(place.release(), isl::map(elements).release())));
    std::string name = "M" + num(places);
    return isl::manage(checked(tasks.ctx(), isl_map_set_tuple_name(both.release(), isl_dim_out, name.c_str())));
  }

  void addPlaces(unsigned memory, const EarlyRows::Tensor &tensor) {
    unsigned places = tasks.memories.size();
    Memory added = tasks.memories[memory];
    isl::set which(tasks.ctx(), "{ [p] }");
    isl::set shape =
        isl::manage(checked(tasks.ctx(), isl_set_flat_product(which.release(), isl::set(added.shape).release())));
    std::string tuple = "M" + num(places);
    added.shape = isl::manage(checked(tasks.ctx(), isl_set_set_tuple_name(shape.release(), tuple.c_str())));
    added.name += " (places)";
    tasks.memories.push_back(added);
    for (unsigned k = 0; k < tasks.calls.size(); ++k) {
      Generation generation = early.generationOf(graph, k, tensor);
      bool isWriter = llvm::is_contained(tensor.writers, k);
      bool isReader = early.isEarly(k) && llvm::is_contained(early.readers[k].memories, memory);
      std::vector<Access> accesses;
      for (const Access &access : tasks.calls[k].accesses) {
        if (access.memory != (int)memory || !(access.write ? isWriter : isReader)) {
          accesses.push_back(access);
          continue;
        }
        Access in = access;
        in.memory = (int)places;
        in.write = false;
        if (isWriter) {
          Generation mine{generation.constant + 1, generation.perIteration, generation.perRepeat};
          in.relation = inPlace(k, access.relation, text(mine, tensor), places);
          accesses.push_back(in);
          in.write = true;
          for (int64_t cleared : {1, 1 - (int)placeCount}) {
            Generation of{mine.constant + cleared, mine.perIteration, mine.perRepeat};
            in.relation = inPlace(k, access.relation, text(of, tensor), places);
            accesses.push_back(in);
          }
          continue;
        }
        std::string found = text(generation, tensor);
        isl::map elements = access.relation.intersect_domain(tasksWhere(k, found + " >= 0"));
        in.relation = inPlace(k, elements, found, places);
        accesses.push_back(in);
        Access plain = access;
        plain.relation = access.relation.intersect_domain(tasksWhere(k, found + " < 0"));
        accesses.push_back(plain);
      }
      tasks.calls[k].accesses = std::move(accesses);
    }
  }

  /// Hints order nothing; what is borrowed does.
  void borrow(unsigned k, const std::vector<std::vector<EventUse>> &waits) {
    const EarlyRows::Reader &reader = early.readers[k];
    Call &call = tasks.calls[k];
    std::string found = text(reader.generation, early.tensors.at(reader.memories[0]));
    for (EventUse &use : call.waits)
      if (early.hinted[use.event])
        use.relation = use.relation.intersect_domain(tasksWhere(k, found + " < 0"));
    for (const EarlyRows::Borrowed &borrowed : reader.borrowed) {
      std::vector<std::string> at;
      if (graph.iterations(borrowed.call))
        at.push_back((borrowed.isFromEnd ? extentOf(early.repeatAround(reader)) : coordinateText("l0")) + " - " +
                     num(borrowed.shift));
      for (auto [c, coordinate] : llvm::enumerate(borrowed.at))
        at.push_back(coordinate == EarlyRows::every ? "b" + num(c) + "'" : coordinateText(coordinate));
      isl::map whose = mapOf(tasks.ctx(), parameters() + "{ " + taskOf(k) + " -> C" + num(borrowed.call) + "[" +
                                              llvm::join(at, ", ") + "] : " + found + " >= 0 }");
      for (EventUse use : waits[borrowed.call]) {
        use.relation = whose.intersect_domain(call.domain).apply_range(use.relation);
        call.waits.push_back(use);
      }
    }
    for (Access &access : call.accesses)
      access.afterWaits = call.waits.size();
  }

  const GraphCode &graph;
  const EarlyRows &early;
  TaskGraph &tasks;
};

/// Only launches in which a task reads early: all others are as the program's own proof has them.
void narrow(TaskGraph &tasks, const EarlyRows &early) {
  std::optional<isl::set> launches;
  for (unsigned k = 0; k < tasks.calls.size(); ++k)
    if (early.isEarly(k)) {
      isl::set mine = tasks.calls[k].domain.params();
      launches = launches ? launches->unite(mine) : mine;
    }
  if (!launches)
    return;
  // One polyhedron around them, though it has more: what is proved for those is proved for these, and sooner.
  launches =
      isl::manage(checked(tasks.ctx(), isl_set_from_basic_set(isl_set_simple_hull(launches->coalesce().release()))));
  tasks.context = tasks.context.intersect(*launches).coalesce();
  auto only = [&](isl::map &relation) { relation = relation.intersect_params(*launches); };
  for (Call &call : tasks.calls) {
    call.domain = call.domain.intersect_params(*launches);
    if (call.domain.is_empty()) { // it has nothing to say, and would be asked about every other call
      call.accesses.clear();
      call.waits.clear();
      call.notifies.clear();
      continue;
    }
    for (Access &access : call.accesses)
      only(access.relation);
    for (EventUse &use : call.waits)
      only(use.relation);
    for (EventUse &use : call.notifies)
      only(use.relation);
  }
}

} // namespace

std::string earlyRefusal(const GraphCode &graph, const EarlyRows &early) {
  FailureOr<Extraction> model = extractTaskGraph(graph.signature.graph);
  if (failed(model))
    return "its model could not be built";
  Findings findings;
  try {
    narrow(model->graph, early);
    Model places(graph, early, model->graph);
    if (std::string why = places.uncovered(); !why.empty())
      return why;
    places.apply();
    findings = verify(model->graph);
  } catch (const isl::exception &error) {
    return std::string("its order was not decided: ") + error.what();
  }
  if (!findings.violations.empty())
    return "not ordered without its event: " + findings.violations[0].message;
  if (!findings.obligations.empty())
    return "not proved without its event: " + findings.obligations[0].text;
  return "";
}

} // namespace evt::emit
