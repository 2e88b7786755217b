#include "EarlyRows.h"

#include "StreamCode.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

/// The repeat right around a call, if it is in one.
ir::RepeatOp repeatOf(ir::CallOp call) {
  auto around = ir::enclosingRepeats(call);
  return around.empty() ? ir::RepeatOp() : around.back();
}

bool writes(ir::CallOp call, Value memory) {
  for (auto [i, a] : llvm::enumerate(call.getArgs()))
    if (a == memory)
      for (Value argument = ir::calleeOf(call).getBody().getArgument(i); Operation * user : argument.getUsers())
        if (llvm::is_contained(ir::memoriesWritten(user), argument))
          return true;
  return false;
}

/// `factor` times a coordinate of the grid, whose number it is.
std::optional<unsigned> coordinateTimes(ir::DeviceOp device, Value v, int64_t factor) {
  if (auto apply = v.getDefiningOp<affine::AffineApplyOp>()) {
    AffineMap map = apply.getAffineMap();
    if (map.getNumInputs() != 1 || map.getNumDims() != 1 ||
        map.getResult(0) != getAffineDimExpr(0, v.getContext()) * factor)
      return std::nullopt;
    v = apply.getOperand(0);
  } else if (factor != 1) {
    return std::nullopt;
  }
  for (unsigned c = 0; c < device.getCoordNames().size(); ++c)
    if (v == device.getCoord(c))
      return c;
  return std::nullopt;
}

/// How the tasks of a call write a memory, if it is one argument of theirs and stored to once.
ir::StoreOp onlyStore(const GraphCode &graph, unsigned k, unsigned memory) {
  ir::CallOp call = graph.signature.calls[k];
  ir::DeviceOp device = ir::calleeOf(call);
  ir::StoreOp only;
  if (llvm::count(call.getArgs(), graph.signature.memories[memory]) != 1)
    return only;
  unsigned argument = llvm::find(call.getArgs(), graph.signature.memories[memory]) - call.getArgs().begin();
  for (auto store : ir::lastBlock(device).getOps<ir::StoreOp>())
    if (store.getMemory() == device.getBody().getArgument(argument)) {
      if (only)
        return {};
      only = store;
    }
  return only;
}

/// Whether the tasks of a call write the memory box by box, the same ones in every iteration, in words that a place can
/// have.
bool writesInWords(const GraphCode &graph, unsigned k, unsigned memory) {
  ir::DeviceOp device = ir::calleeOf(graph.signature.calls[k]);
  ir::StoreOp store = onlyStore(graph, k, memory);
  if (!store || store.getTable())
    return false;
  auto type = cast<MemRefType>(graph.signature.memories[memory].getType());
  auto tile = cast<RankedTensorType>(store.getTile().getType());
  unsigned bits = type.getElementTypeBitWidth();
  bool inPairs = tile.getRank() == 2 && tile.getDimSize(1) % 8 == 0;
  if (bits == 16 ? !inPairs || store.getSizes().back() != tile.getShape().back() || type.getShape().back() % 2
                 : bits != 32 || inPairs)
    return false;
  llvm::SmallSet<unsigned, 4> used;
  for (auto [d, offset] : llvm::enumerate(store.getOffsets())) {
    int64_t size = store.getSizes()[d];
    if (ir::constantOf(offset))
      continue;
    auto c = coordinateTimes(device, offset, size);
    if (!c || !used.insert(*c).second)
      return false;
  }
  return true;
}

/// The calls that write a memory in places, or nothing and the reason.
std::optional<EarlyRows::Tensor> findWriters(const GraphCode &graph, const StreamPlan &plan, unsigned memory,
                                             std::string &why) {
  const ir::Signature &s = graph.signature;
  EarlyRows::Tensor tensor;
  bool known = true;
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    ir::CallOp call = s.calls[k];
    if (!writes(call, s.memories[memory]))
      continue;
    TaskForm form = plan.calls[k].form;
    if (form != TaskForm::streamed && form != TaskForm::onCompletion) {
      if (!tensor.writers.empty() || repeatOf(call)) {
        why = s.callName(k) + " writes " + s.memoryName(memory) + " as tiles";
        return std::nullopt;
      }
      continue; // before generation 0
    }
    if (!writesInWords(graph, k, memory)) {
      why = s.callName(k) + " does not write " + s.memoryName(memory) + " box by box, in words";
      return std::nullopt;
    }
    tensor.writers.push_back(k);
    if (ir::RepeatOp repeat = repeatOf(call)) {
      known &= graph.iterations(k) == 1 && (!tensor.repeat || tensor.repeat == repeat);
      tensor.repeat = repeat;
    }
  }
  if (tensor.writers.empty()) {
    why = "nothing that streams writes " + s.memoryName(memory);
    return std::nullopt;
  }
  if (!known) {
    why = s.memoryName(memory) + " is written in more than one repeat";
    return std::nullopt;
  }
  for (unsigned k : tensor.writers)
    ++(repeatOf(s.calls[k]) ? tensor.count.perRepeat : tensor.count.constant);
  ir::CallOp writer = s.calls[tensor.writers[0]];
  ir::StoreOp store = onlyStore(graph, tensor.writers[0], memory);
  auto rows = coordinateTimes(ir::calleeOf(writer), store.getOffsets()[0], store.getSizes()[0]);
  if (rows && !writer.isRagged()) {
    tensor.tiles = writer.getGrid()[*rows];
    tensor.tileRows = store.getSizes()[0];
  }
  return tensor;
}

/// What a call that streams reads before its product, of what tasks write.
struct Reads {
  llvm::SmallVector<unsigned> memories, arguments; // the rows' first
};

/// Its rows, and what its row values are reduced from; none if those need anything else that tasks write.
std::optional<Reads> readsOf(const GraphCode &graph, const StreamPlan &plan, unsigned k, std::string &why) {
  const ir::Signature &s = graph.signature;
  ir::CallOp call = s.calls[k];
  ir::DeviceOp device = ir::calleeOf(call);
  Reads reads;
  auto add = [&](ir::LoadOp load) {
    reads.arguments.push_back(cast<BlockArgument>(load.getMemory()).getArgNumber());
    reads.memories.push_back(s.memoryOf(call.getArgs()[reads.arguments.back()]));
  };
  add(plan.calls[k].product->rows.load);
  CodeWriter scratch;
  FragmentCode code(device, std::vector<std::string>(device.getBody().getNumArguments(), "x"), scratch);
  setProduct(code, device, *plan.calls[k].product);
  for (auto [load, isRow] : code.keptLoads()) {
    unsigned memory = s.memoryOf(call.getArgs()[cast<BlockArgument>(load.getMemory()).getArgNumber()]);
    if (llvm::none_of(s.calls, [&](ir::CallOp other) { return writes(other, s.memories[memory]); }))
      continue;
    auto shape = cast<MemRefType>(s.memories[memory].getType()).getShape();
    if (!isRow || load.getSizes().back() != shape.back() || ir::constantOf(load.getOffsets().back()) != 0) {
      why = "a row value comes from other than whole rows of " + s.memoryName(memory);
      return std::nullopt;
    }
    add(load);
  }
  // Nothing else may read them: their tensors are not written.
  CodeWriter end;
  std::vector<std::string> names;
  for (unsigned i = 0; i < device.getBody().getNumArguments(); ++i)
    names.push_back("argument" + num(i) + "_");
  FragmentCode finish(device, names, end);
  setProduct(finish, device, *plan.calls[k].product);
  std::string ignored;
  finish.emit(ignored);
  std::string text = end.take();
  for (unsigned a : reads.arguments)
    if (text.find(names[a]) != std::string::npos) {
      why = "what follows the product uses " + s.memoryName(s.memoryOf(call.getArgs()[a])) + ", too";
      return std::nullopt;
    }
  return reads;
}

/// Whose waits are borrowed.
using Lenders = std::vector<EarlyRows::Borrowed>;

/// The tasks that complete the event of a call run on completion: its element's indices are that call's coordinates.
Lenders completersOf(const GraphCode &graph, unsigned w, const EarlyRows::Borrowed &writer) {
  const ir::Signature &s = graph.signature;
  ir::CallOp waiting = s.calls[w];
  ir::WaitOp wait = *waiting.getProtocol().getOps<ir::WaitOp>().begin();
  unsigned skip = graph.iterations(w);
  Lenders lenders;
  for (unsigned v = 0; v < s.calls.size(); ++v) {
    ir::CallOp other = s.calls[v];
    for (auto notify : other.getProtocol().getOps<ir::NotifyOp>()) {
      if (notify.getEvent() != wait.getEvent())
        continue;
      if (graph.iterations(v) != skip)
        return {};
      EarlyRows::Borrowed borrowed = writer;
      borrowed.call = v;
      borrowed.at.assign(other.getNumCoords(), EarlyRows::every);
      auto locals = graph.locals(v);
      for (unsigned d = skip; d < notify.getLower().size(); ++d)
        for (unsigned c = 0; c < borrowed.at.size(); ++c)
          if (auto name = locals.find(notify.getLower()[d]); name != locals.end() && name->second == "c" + num(c))
            borrowed.at[c] = writer.at[d - skip];
      lenders.push_back(borrowed);
    }
  }
  return lenders;
}

/// The tasks that write the rows of a call that streams; of a call run on completion, those that complete its event.
Lenders writersOf(const GraphCode &graph, const StreamPlan &plan, const EarlyRows &early, unsigned k) {
  const ir::Signature &s = graph.signature;
  ir::CallOp call = s.calls[k];
  ir::LoadOp rows = plan.calls[k].product->rows.load;
  unsigned memory = s.memoryOf(call.getArgs()[cast<BlockArgument>(rows.getMemory()).getArgNumber()]);
  std::string why;
  auto tensor = findWriters(graph, plan, memory, why);
  if (!tensor || graph.iterations(k) > 1)
    return {};
  Generation read = early.generationOf(graph, k, *tensor);
  for (unsigned w : tensor->writers) {
    Generation written = early.generationOf(graph, w, *tensor);
    ++written.constant;
    EarlyRows::Borrowed borrowed;
    borrowed.call = w;
    // Of the iteration that writes this generation.
    int64_t each = read.perIteration ? read.perIteration : read.perRepeat;
    if (written.perIteration) {
      if (written.perIteration != each || (written.constant - read.constant) % each)
        continue;
      borrowed.shift = (written.constant - read.constant) / each;
      borrowed.isFromEnd = !read.perIteration;
    } else if (!(written == read)) {
      continue;
    }
    // Coordinates of boxes of the same rows correspond.
    ir::CallOp writer = s.calls[w];
    borrowed.at.assign(writer.getNumCoords(), EarlyRows::every);
    ir::StoreOp store = onlyStore(graph, w, memory);
    for (auto [d, offset] : llvm::enumerate(store.getOffsets())) {
      auto theirs = coordinateTimes(ir::calleeOf(writer), offset, store.getSizes()[d]);
      auto mine = coordinateTimes(ir::calleeOf(call), rows.getOffsets()[d], rows.getSizes()[d]);
      if (theirs && mine && store.getSizes()[d] == rows.getSizes()[d])
        borrowed.at[*theirs] = "c" + num(*mine);
    }
    if (plan.calls[w].form == TaskForm::onCompletion)
      return completersOf(graph, w, borrowed);
    return {borrowed};
  }
  return {};
}

/// The writers of their rows in turn.
EarlyRows::Borrowed compose(const EarlyRows::Borrowed &first, EarlyRows::Borrowed second) {
  if (!second.isFromEnd) {
    second.shift += first.shift;
    second.isFromEnd = first.isFromEnd;
  }
  for (std::string &at : second.at)
    if (at != EarlyRows::every)
      at = first.at[std::stoul(at.substr(1))];
  return second;
}

/// One call's own view: its rows could be read early if everybody else agrees.
struct Candidate {
  std::map<unsigned, EarlyRows::Tensor> tensors;
  SmallVector<unsigned> hints; // events
};

/// Whether tasks multiply parts of K, and wait for the part alone.
bool waitsForPart(const GraphCode &graph, const StreamPlan &plan, unsigned k) {
  ir::CallOp call = graph.signature.calls[k];
  ir::DeviceOp device = ir::calleeOf(call);
  ir::LoadOp rows = plan.calls[k].product->rows.load;
  for (unsigned c = 0; c < call.getNumCoords(); ++c)
    if (waitsDependOn(graph, k, c) &&
        roles::dependsOn(rows.getOffsets().back(), cast<BlockArgument>(device.getCoord(c))))
      return true;
  return false;
}

std::optional<Candidate> candidateOf(const GraphCode &graph, const StreamPlan &plan, const EarlyRows &early, unsigned k,
                                     EarlyRows::Reader &reader) {
  const ir::Signature &s = graph.signature;
  auto reads = readsOf(graph, plan, k, reader.why);
  if (!reads)
    return std::nullopt;
  Candidate candidate;
  for (unsigned memory : reads->memories) {
    auto tensor = findWriters(graph, plan, memory, reader.why);
    if (!tensor)
      return std::nullopt;
    candidate.tensors.emplace(memory, *tensor);
  }
  const EarlyRows::Tensor &rows = candidate.tensors.at(reads->memories[0]);
  reader.generation = early.generationOf(graph, k, rows);
  ir::CallOp call = s.calls[k];
  call.getProtocol().walk([&](ir::WaitOp wait) {
    unsigned e = s.eventOf(wait.getEvent());
    ir::EventOp event = s.events[e];
    for (unsigned writer : rows.writers) {
      ir::CallOp notifier = s.calls[writer];
      notifier.getProtocol().walk([&](ir::NotifyOp n) {
        if (n.getEvent() == event.getEvent() && !event.getTable() && !plan.onCompletion.count(e))
          candidate.hints.push_back(e);
      });
    }
  });
  // A function is emitted once: what it reads early, it does so for all calls.
  bool alike = true;
  for (unsigned other = 0; other < s.calls.size(); ++other) {
    std::string why;
    if (plan.calls[other].form == TaskForm::streamed && ir::calleeOf(s.calls[other]) == ir::calleeOf(call)) {
      auto theirs = readsOf(graph, plan, other, why);
      alike &= theirs && theirs->arguments == reads->arguments;
    }
  }
  bool together = llvm::all_of(candidate.tensors, [&](auto &entry) {
    return entry.second.repeat == rows.repeat && early.generationOf(graph, k, entry.second) == reader.generation;
  });
  ir::RepeatOp repeat = rows.repeat;
  if (candidate.hints.empty())
    reader.why = "it does not wait for those who write its rows";
  else if (graph.iterations(k) > 1)
    reader.why = "it is in a repeat of a repeat";
  else if (repeat && s.symbolOf(repeat.getExtent()) < 0 && !ir::constantOf(repeat.getExtent()))
    reader.why = "the repeat's extent is neither a symbol nor a constant";
  else if (!alike)
    reader.why = "another call of its device function reads other memories";
  else if (!together)
    reader.why = "its rows and its row values are written at different times";
  if (!reader.why.empty())
    return std::nullopt;
  auto borrow = [&](EarlyRows::Borrowed borrowed) {
    for (unsigned c = 0; c < borrowed.at.size(); ++c)
      if (borrowed.at[c] == EarlyRows::every && !waitsDependOn(graph, borrowed.call, c))
        borrowed.at[c] = "0";
    if (!llvm::is_contained(reader.borrowed, borrowed)) // pieces of a sum may have rows of the same tasks
      reader.borrowed.push_back(borrowed);
  };
  const Lenders writers = writersOf(graph, plan, early, k);
  for (const EarlyRows::Borrowed &first : writers)
    borrow(first);
  for (const EarlyRows::Borrowed &first : writers)
    for (const EarlyRows::Borrowed &second : writersOf(graph, plan, early, first.call))
      borrow(compose(first, second));
  if (reader.borrowed.size() >= roles::computeWarps) { // a warp passes the waits of one, besides the first
    reader.why = "it would borrow the waits of " + num(reader.borrowed.size()) + " calls, at most " +
                 num(roles::computeWarps - 1) + " can be";
    return std::nullopt;
  }
  reader.arguments = reads->arguments;
  return candidate;
}

bool touches(ir::CallOp call, Value memory) {
  bool found = llvm::is_contained(call.getArgs(), memory) || call.getRaggedTable() == memory;
  call.getProtocol().walk([&](ir::ReadOp r) { found |= r.getTable() == memory; });
  return found;
}

} // namespace

EarlyRows::EarlyRows(const GraphCode &graph, const StreamPlan &plan)
    : readers(graph.signature.calls.size()), hinted(graph.signature.events.size()) {
  // A part of K has an event of its own, which has come most of the time when it is asked for; early rows would only be
  // more work (2 % of a step of Qwen3-8B). But it may be what is missing in the order of everything else.
  bool hasParts = false;
  for (unsigned k = 0; k < plan.calls.size(); ++k)
    hasParts |= plan.calls[k].form == TaskForm::streamed && waitsForPart(graph, plan, k);
  if (!assembleProved(graph, plan, false) && hasParts)
    assembleProved(graph, plan, true);
}

bool EarlyRows::assembleProved(const GraphCode &graph, const StreamPlan &plan, bool withParts) {
  assemble(graph, plan, withParts);
  if (tensors.empty())
    return false;
  std::string why = earlyRefusal(graph, *this);
  if (why.empty())
    return true;
  for (Reader &reader : readers)
    if (!reader.memories.empty()) {
      reader = Reader();
      reader.why = why;
    }
  tensors.clear();
  hinted.assign(hinted.size(), false);
  return false;
}

void EarlyRows::assemble(const GraphCode &graph, const StreamPlan &plan, bool withParts) {
  const ir::Signature &s = graph.signature;
  std::map<unsigned, Candidate> candidates;
  for (unsigned k = 0; k < s.calls.size(); ++k)
    if (plan.calls[k].form == TaskForm::streamed) {
      readers[k] = Reader();
      if (!withParts && waitsForPart(graph, plan, k))
        readers[k].why = "it waits for a part of its sum alone";
      else if (auto candidate = candidateOf(graph, plan, *this, k, readers[k]))
        candidates.emplace(k, *candidate);
    }
  // A tensor that anybody reads in another way has to be written, and ordered, as ever.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[k, candidate] : candidates) {
      for (auto &[memory, tensor] : candidate.tensors) {
        if (isa<BlockArgument>(s.memories[memory]))
          readers[k].why = s.memoryName(memory) + " is an argument of the graph";
        for (unsigned other = 0; other < s.calls.size(); ++other) {
          auto theirs = candidates.find(other);
          bool reads = touches(s.calls[other], s.memories[memory]) && !writes(s.calls[other], s.memories[memory]);
          if (reads && (theirs == candidates.end() || !theirs->second.tensors.count(memory)))
            readers[k].why = s.callName(other) + " reads " + s.memoryName(memory) + " when it is released";
        }
      }
      if (!readers[k].why.empty()) {
        candidates.erase(k);
        changed = true;
        break;
      }
    }
  }
  for (auto &[k, candidate] : candidates) {
    for (auto &[memory, tensor] : candidate.tensors) {
      readers[k].memories.push_back(memory);
      tensors.emplace(memory, tensor);
    }
    for (unsigned e : candidate.hints)
      hinted[e] = true;
  }
}

Generation EarlyRows::generationOf(const GraphCode &graph, unsigned call, const Tensor &tensor) const {
  const ir::Signature &s = graph.signature;
  Generation generation{-1, 0, 0};
  for (unsigned k : tensor.writers) {
    bool isRepeated = static_cast<bool>(repeatOf(s.calls[k]));
    if (isRepeated && repeatOf(s.calls[call]) == tensor.repeat) {
      ++generation.perIteration;
      generation.constant += k < call;
    } else if (k < call) {
      ++(isRepeated ? generation.perRepeat : generation.constant);
    }
  }
  return generation;
}

const EarlyRows::Reader *EarlyRows::readsEarly(const GraphCode &graph, ir::DeviceOp device) const {
  for (unsigned k = 0; k < readers.size(); ++k)
    if (ir::calleeOf(graph.signature.calls[k]) == device && isEarly(k))
      return &readers[k];
  return nullptr;
}

bool EarlyRows::writesEarly(const GraphCode &graph, ir::DeviceOp device, unsigned argument) const {
  const ir::Signature &s = graph.signature;
  for (auto &[memory, tensor] : tensors)
    for (unsigned k : tensor.writers) {
      ir::CallOp call = s.calls[k];
      ir::DeviceOp callee = ir::calleeOf(call);
      if (callee == device && call.getArgs()[argument] == s.memories[memory])
        return true;
    }
  return false;
}

} // namespace evt::emit
