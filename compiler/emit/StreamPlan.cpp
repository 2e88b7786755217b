#include "FeedCode.h"
#include "FragmentCode.h"
#include "StreamCode.h"
#include "TileCode.h"
#include "TiledCode.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;

namespace evt::emit {

namespace {

/// Of a stage: the copy engine takes about 0.1 us for a copy, whatever its size.
constexpr int64_t wantedTileStageBytes = 48 << 10;

/// Whether a call's device function has a form on fragments.
bool hasFragmentForm(ir::DeviceOp device) {
  CodeWriter scratch;
  std::string why;
  return FragmentCode(device, std::vector<std::string>(device.getBody().getNumArguments(), "x"), scratch).emit(why);
}

} // namespace

StreamPlan::StreamPlan(const GraphCode &graph) : calls(graph.signature.calls.size()) {
  ProductForms forms(graph.signature);
  packed = forms.packed;
  for (auto [call, form] : llvm::zip_equal(calls, forms.calls)) {
    call.product = form.streamed;
    call.tiled = form.tiled;
    call.aligned = form.aligned;
    call.form = form.streamed ? TaskForm::streamed : form.tiled ? TaskForm::tiled : TaskForm::handedOver;
  }
  findInlined(graph);
  int64_t stage = std::max(tileStageBytes(), wantedTileStageBytes);
  for (auto [k, call] : llvm::enumerate(calls)) {
    if (!call.tiled)
      continue;
    call.tiled->fill(stage);
    if (!mayHaveFewRows(graph, k))
      call.tiled->few = call.tiled->stage;
  }
  listMaps(graph);
  alignCaches(graph);
  early = EarlyRows(graph, *this);
  shareRows(graph);
  sinkWaits(graph);
}

void StreamPlan::sinkWaits(const GraphCode &graph) {
  SmallVector<unsigned> readEarly;
  for (unsigned k = 0; k < calls.size(); ++k)
    if (early.isEarly(k))
      readEarly.push_back(k);
  for (auto [k, call] : llvm::enumerate(calls))
    if (call.tiled)
      call.sunk = findSunkWait(graph, k, *call.tiled, readEarly);
}

/// Attention fetches keys and values by 16 bytes.
void StreamPlan::alignCaches(const GraphCode &graph) {
  for (ir::CallOp call : graph.signature.calls) {
    auto align = [&](auto op) {
      for (Value cache : {Value(op.getKeys()), Value(op.getValues())})
        if (cache)
          aligned.push_back(graph.signature.memoryOf(call.getArgs()[cast<BlockArgument>(cache).getArgNumber()]));
    };
    ir::calleeOf(call).getBody().walk([&](ir::AttendOp op) { align(op); });
    ir::calleeOf(call).getBody().walk([&](ir::AttendPartsOp op) { align(op); });
    ir::calleeOf(call).getBody().walk([&](ir::AttendTokensOp op) { align(op); });
  }
}

namespace {

unsigned memoryOf(const ir::Signature &s, unsigned k, unsigned argument) {
  ir::CallOp call = s.calls[k];
  return s.memoryOf(call.getArgs()[argument]);
}

/// The same index, written once or twice.
bool areSame(Value a, Value b) {
  auto first = a.getDefiningOp<affine::AffineApplyOp>(), second = b.getDefiningOp<affine::AffineApplyOp>();
  return a == b || (first && second && first.getAffineMap() == second.getAffineMap() &&
                    first.getMapOperands() == second.getMapOperands());
}

/// What lies outside the product's rows is stored by nobody: what is stored has as many rows as those, in the same
/// places, and so has a table that says where.
bool dropsRowsOutside(const GraphCode &graph, unsigned k, ir::LoadOp rows) {
  unsigned dim = rows.getSizes().size() - 2;
  auto extent = [&](Value memory, unsigned d) {
    return graph.memoryDimCode(memoryOf(graph.signature, k, cast<BlockArgument>(memory).getArgNumber()), d);
  };
  std::string extentOfRows = extent(rows.getMemory(), dim);
  Value first = rows.getOffsets()[dim];
  return llvm::all_of(
      ir::lastBlock(ir::calleeOf(graph.signature.calls[k])).getOps<ir::StoreOp>(), [&](ir::StoreOp store) {
        if (store.getTable())
          return extent(store.getTable(), 0) == extentOfRows && areSame(store.getOffsets()[store.getTableDim()], first);
        for (auto [d, offset] : llvm::enumerate(store.getOffsets()))
          if (areSame(offset, first) && extent(store.getMemory(), d) == extentOfRows)
            return true;
        return false;
      });
}

StreamPlan::Map mapFor(const GraphCode &graph, unsigned k, const roles::RoleProduct::Operand &operand,
                       const roles::TiledProduct &product, const roles::TiledProduct::Stage &stage) {
  bool isRows = operand.load == product.rows.load;
  auto offsets = operand.offsets();
  int64_t chunks = (isRows ? stage.rowsTogether : product.isPacked) ? stage.chunks : 1;
  // Only of rows: a column outside may be part of a sum over columns. And only beyond the end.
  return {memoryOf(graph.signature, k, *operand.argument()), operand.tile().getDimSize(0), chunks * roles::chunkColumns,
          isRows && roles::isDivisible(offsets[offsets.size() - 2], product.tileRows) &&
              dropsRowsOutside(graph, k, product.rows.load)};
}

} // namespace

bool StreamPlan::dropsRowsOutside(const GraphCode &graph, ir::DeviceOp device) const {
  for (auto [k, call] : llvm::enumerate(calls))
    if (call.form == TaskForm::streamed && ir::calleeOf(graph.signature.calls[k]) == device &&
        !emit::dropsRowsOutside(graph, k, call.product->rows.load))
      return false;
  return true;
}

void StreamPlan::listMaps(const GraphCode &graph) {
  for (auto [k, call] : llvm::enumerate(calls)) {
    if (call.form != TaskForm::tiled)
      continue;
    SmallVector<roles::RoleProduct::Operand> operands{call.tiled->rows};
    operands.append(call.tiled->weights.begin(), call.tiled->weights.end());
    SmallVector<roles::TiledProduct::Stage> stages{call.tiled->stage};
    if (mayHaveFewRows(graph, k))
      stages.push_back(call.tiled->few);
    for (const roles::TiledProduct::Stage &stage : stages)
      for (const roles::RoleProduct::Operand &operand : operands) {
        Map map = mapFor(graph, k, operand, *call.tiled, stage);
        if (!llvm::is_contained(maps, map))
          maps.push_back(map);
        aligned.push_back(map.memory); // for the copy engine
      }
    ir::CallOp op = graph.signature.calls[k];
    for (unsigned argument : call.aligned)
      aligned.push_back(graph.signature.memoryOf(op.getArgs()[argument]));
  }
}

unsigned StreamPlan::mapOf(const GraphCode &graph, unsigned k, const roles::RoleProduct::Operand &operand,
                           const roles::TiledProduct::Stage &stage) const {
  return llvm::find(maps, mapFor(graph, k, operand, *calls[k].tiled, stage)) - maps.begin();
}

bool StreamPlan::mayHaveFewRows(const GraphCode &graph, unsigned k) const {
  // What the runtime does: runtime/artifact/Shapes.cpp, fetchedRows.
  const roles::TiledProduct &product = *calls[k].tiled;
  ir::CallOp call = graph.signature.calls[k];
  Value memory = call.getArgs()[*product.rows.argument()];
  return !isa<BlockArgument>(memory) && cast<MemRefType>(memory.getType()).getRank() == 2 &&
         mapFor(graph, k, product.rows, product, product.stage).mayReadOutside;
}

/// Whether an element always waits for somebody.
static bool isAtLeastOne(const ir::Signature &s, ir::EventOp event) {
  AffineMap map = event.getCountMap();
  if (map.isSingleConstant())
    return map.getSingleConstantResult() > 0;
  return event.getFactor() > 0 && llvm::all_of(map.getResults(), [&](AffineExpr result) { // the least of them
           if (auto constant = dyn_cast<AffineConstantExpr>(result))
             return constant.getValue() > 0;
           auto operand = dyn_cast<AffineSymbolExpr>(result);
           int symbol = operand ? s.symbolOf(event.getCountOperands()[operand.getPosition()]) : -1;
           return symbol >= 0 && s.symbols[symbol].min > 0;
         });
}

void StreamPlan::findInlined(const GraphCode &graph) {
  const ir::Signature &s = graph.signature;
  for (unsigned m = 0; m < calls.size(); ++m) {
    ir::CallOp call = s.calls[m];
    auto waits = llvm::to_vector(call.getProtocol().getOps<ir::WaitOp>());
    if (calls[m].form != TaskForm::handedOver || ir::calleeOf(call).isForeign() || call.isRagged() ||
        readsTables(call) || waits.size() != 1 || llvm::is_contained(waits[0].getIsRange(), true))
      continue;
    // The element names the task: its indices are the task's coordinates, each once.
    auto locals = graph.locals(m);
    std::vector<std::string> indices;
    for (Value v : waits[0].getLower())
      indices.push_back(graph.expression(v, locals));
    if (indices != graph.coordList(m))
      continue;
    unsigned e = s.eventOf(waits[0].getEvent());
    ir::EventOp event = s.events[e];
    // Every task has an element, and every element is completed by somebody.
    std::vector<std::string> extents;
    for (Value v : event.getExtents())
      extents.push_back(graph.expression(v));
    bool alone = !event.getTable() && extents == graph.extentList(m) && isAtLeastOne(s, event) &&
                 llvm::none_of(s.events, [&](ir::EventOp other) { return other.getGuard() == event.getEvent(); });
    bool byWarps = true, byBlocks = !waitsInside(ir::calleeOf(call)); // that complete it
    for (unsigned k = 0; k < calls.size() && alone; ++k) {
      ir::CallOp other = s.calls[k];
      other.getProtocol().walk([&](ir::WaitOp w) { alone &= w.getEvent() != event.getEvent() || k == m; });
      alone &= !other.isRagged() || other.getRaggedGuard() != event.getEvent();
      unsigned notifies = 0, mine = 0;
      bool plain = true;
      other.getProtocol().walk([&](ir::NotifyOp n) {
        ++notifies;
        mine += n.getEvent() == event.getEvent();
        plain &= !llvm::is_contained(n.getIsRange(), true) && n->getParentRegion() == &other.getProtocol();
      });
      alone &= !mine || (notifies == 1 && plain);
      byWarps &= !mine || calls[k].form == TaskForm::streamed;
      byBlocks &= !mine || (calls[k].form == TaskForm::handedOver && !other.isRagged() && !readsTables(other));
    }
    // Nobody would miss a task that notifies nobody, if a notification that it needs were lost.
    byBlocks &= !call.getProtocol().getOps<ir::NotifyOp>().empty();
    if (alone && byBlocks) {
      calls[m].form = TaskForm::joined;
      onCompletion[e] = m;
      continue;
    }
    if (!alone || !byWarps || !hasFragmentForm(ir::calleeOf(call)))
      continue;
    calls[m].form = TaskForm::onCompletion;
    onCompletion[e] = m;
    dealElements(graph, event);
  }
}

std::vector<TaskForm> StreamPlan::forms() const {
  std::vector<TaskForm> all;
  for (const Call &c : calls)
    all.push_back(c.form);
  return all;
}

std::vector<std::optional<unsigned>> StreamPlan::completed(const GraphCode &graph) const {
  std::vector<std::optional<unsigned>> events(calls.size());
  for (unsigned k = 0; k < calls.size(); ++k)
    ir::CallOp(graph.signature.calls[k]).getProtocol().walk([&](ir::NotifyOp n) {
      unsigned e = graph.signature.eventOf(n.getEvent());
      if (onCompletion.count(e))
        events[k] = e;
    });
  return events;
}

std::vector<std::optional<ElementDeal>> StreamPlan::deals() const {
  std::vector<std::optional<ElementDeal>> all;
  for (const Call &c : calls)
    all.push_back(c.deal);
  return all;
}

bool StreamPlan::streams() const {
  return llvm::any_of(calls, [](const Call &c) { return c.form == TaskForm::streamed; });
}

static bool sameShape(const roles::StreamedProduct &a, const roles::StreamedProduct &b) {
  return a.blocks() == b.blocks() && a.pieces() == b.pieces() && a.fragments() == b.fragments() &&
         a.isBfloat16 == b.isBfloat16;
}

std::vector<const roles::StreamedProduct *> StreamPlan::shapes() const {
  std::vector<const roles::StreamedProduct *> all;
  for (const Call &c : calls)
    if (c.product && llvm::none_of(all, [&](auto *p) { return sameShape(*p, *c.product); }))
      all.push_back(&*c.product);
  return all;
}

unsigned StreamPlan::shapeOf(unsigned call) const {
  auto all = shapes();
  return llvm::find_if(all, [&](auto *p) { return sameShape(*p, *calls[call].product); }) - all.begin();
}

int64_t StreamPlan::stageBytes() const {
  int64_t n = 0;
  for (const Call &c : calls)
    n = c.product ? std::max(n, c.product->stageBytes()) : n;
  return n;
}

int64_t StreamPlan::taskBytes(const GraphCode &graph) const {
  // A task's bytes, and those of all tasks of its call for one tile of rows, in one iteration.
  SmallVector<std::pair<int64_t, int64_t>> each;
  int64_t all = 0;
  for (auto [k, c] : llvm::enumerate(calls)) {
    if (!c.product)
      continue;
    int64_t bytes = c.product->bytes(), total = bytes;
    for (Value extent : ir::CallOp(graph.signature.calls[k]).getGrid())
      total *= std::max<int64_t>(ir::constantOf(extent).value_or(1), 1);
    each.push_back({bytes, total});
    all += total;
  }
  llvm::sort(each);
  int64_t seen = 0;
  for (auto [bytes, total] : each)
    if ((seen += total) * 8 > all)
      return bytes;
  return 0;
}

int64_t StreamPlan::fragments() const {
  int64_t n = 0;
  for (const Call &c : calls)
    n = c.product ? std::max(n, c.product->fragments()) : n;
  return n;
}

int64_t StreamPlan::rowPieces() const {
  int64_t n = 0;
  for (const Call &c : calls)
    n = c.product ? std::max(n, c.product->pieces()) : n;
  return n;
}

int64_t StreamPlan::leastRowPieces() const {
  int64_t n = rowPieces();
  for (const Call &c : calls)
    n = c.product ? std::min(n, c.product->pieces()) : n;
  return n;
}

bool StreamPlan::tiles() const {
  return llvm::any_of(calls, [](const Call &c) { return c.form == TaskForm::tiled; });
}

int64_t StreamPlan::tileStageBytes() const {
  int64_t n = 0;
  for (const Call &c : calls)
    n = c.form == TaskForm::tiled ? std::max(n, c.tiled->stageBytes()) : n;
  return n;
}

std::vector<StreamPlan::Variant> StreamPlan::variants(llvm::function_ref<bool(unsigned, unsigned)> areApart) {
  if (!streams() || !tiles())
    return {{"", streams(), tiles()}};
  std::vector<Variant> all{{"streams", true, false}, {"tiles", false, true}};
  bool apart = true;
  for (unsigned a = 0; a < calls.size(); ++a)
    for (unsigned b = 0; b < calls.size(); ++b)
      apart &= calls[a].form != TaskForm::streamed || calls[b].form != TaskForm::tiled || areApart(a, b);
  if (!apart)
    all.push_back({"both", true, true});

  auto meets = [&](unsigned k, TaskForm form) {
    for (unsigned other = 0; other < calls.size(); ++other)
      if (calls[other].form == form && !areApart(k, other))
        return true;
    return false;
  };
  for (auto [k, call] : llvm::enumerate(calls))
    if (call.form == TaskForm::streamed || call.form == TaskForm::tiled) {
      call.side = call.form;
    } else if (call.form == TaskForm::handedOver) {
      bool withStreams = meets(k, TaskForm::streamed), withTiles = meets(k, TaskForm::tiled);
      if (withStreams != withTiles)
        call.side = withStreams ? TaskForm::streamed : TaskForm::tiled;
    }
  // A launch with tasks of both sides must find a kernel that has the code of both.
  for (unsigned a = 0; apart && a < calls.size(); ++a)
    for (unsigned b = 0; b < calls.size(); ++b)
      if (calls[a].side == TaskForm::streamed && calls[b].side == TaskForm::tiled && !areApart(a, b))
        for (unsigned k : {a, b})
          if (calls[k].form == TaskForm::handedOver)
            calls[k].side.reset();
  return all;
}

std::vector<unsigned> StreamPlan::without(const Variant &variant) const {
  std::vector<unsigned> absent;
  for (auto [k, call] : llvm::enumerate(calls))
    if ((call.side == TaskForm::streamed && !variant.streams) || (call.side == TaskForm::tiled && !variant.tiles))
      absent.push_back(k);
  return absent;
}

/// `projected: an element for 64 columns of K, passed as weights are fetched`
static std::string sunkText(const GraphCode &graph, unsigned k, const SunkWait &sunk) {
  ir::CallOp call = graph.signature.calls[k];
  auto wait = *std::next(call.getProtocol().getOps<ir::WaitOp>().begin(), sunk.wait);
  return wait.getEvent().getDefiningOp<ir::EventOp>().getName().str() + ": an element for " +
         std::to_string(sunk.columns) + " columns of K, passed as " +
         (sunk.rows != SunkWait::along      ? "weights"
          : sunk.weights != SunkWait::along ? "rows"
                                            : "rows and weights") +
         " are fetched";
}

std::string StreamPlan::text(const GraphCode &graph, ArrayRef<Unsplit> unsplit) const {
  const ir::Signature &s = graph.signature;
  ir::GraphOp graphOp = s.graph;
  std::string out = "graph " + graphOp.getSymName().str() + " on cuda\n";
  for (auto [k, call] : llvm::enumerate(calls)) {
    out += s.callName(k) + ": ";
    if (call.form == TaskForm::onCompletion || call.form == TaskForm::joined) {
      for (auto [event, m] : onCompletion)
        if (m == k) {
          ir::EventOp e = s.events[event];
          out += std::string("run by ") + (call.form == TaskForm::joined ? "the block that" : "whoever") +
                 " completes " + e.getName().str() + "\n";
        }
      continue;
    }
    ir::CallOp op = s.calls[k];
    if (call.form == TaskForm::tiled) {
      const roles::TiledProduct &p = *call.tiled;
      auto name = [&](const roles::RoleProduct::Operand &operand) {
        return s.memoryName(maps[mapOf(graph, k, operand, p.stage)].memory);
      };
      std::string operands = name(p.rows);
      for (const roles::RoleProduct::Operand &weight : p.weights)
        operands += ", " + name(weight);
      auto columns = [](const roles::TiledProduct::Stage &stage) {
        return std::to_string(stage.chunks * roles::chunkColumns) + " columns of K";
      };
      out +=
          "multiplies tiles\n  loaders   " + operands + ": stages of " + std::to_string(p.stageBytes()) + " bytes, " +
          columns(p.stage) + " each" +
          (p.few.chunks != p.stage.chunks ? ", " + columns(p.few) + " for up to " + std::to_string(p.few.rows) + " rows"
                                          : "") +
          (p.isPacked ? ", from packed weights" : "") + (p.hasWeightsAhead() ? "" : ", weights behind its events") +
          (call.sunk ? "\n  events    " + sunkText(graph, k, *call.sunk) : "") + "\n  compute   " +
          std::to_string(p.tileRows) + " x " + std::to_string(p.allColumns()) + " sums, " +
          std::to_string(p.pieces() * p.allColumns() / 2) + " a thread\n";
      continue;
    }
    if (call.form != TaskForm::streamed) {
      out += "run by the compute warps, tiles in shared memory; " + unsplit[k].text() + "\n";
      if (isFedByStream(graph, *this, ir::calleeOf(op)))
        out += "  loaders   keys and values of long requests, through the ring of weights\n";
      else if (isFed(graph, *this, k))
        out += "  loaders   keys and values, through the ring of tiles\n";
      continue;
    }
    const roles::StreamedProduct &p = *call.product;
    std::string weights, kept;
    for (const auto &w : p.weights)
      weights += (weights.empty() ? "" : ", ") + s.memoryName(memoryOf(s, k, *w.argument()));
    ir::DeviceOp device = ir::calleeOf(op);
    for (unsigned c : p.streaming)
      kept += (kept.empty() ? "" : ", ") + cast<StringAttr>(device.getCoordNames()[c]).getValue().str();
    std::string last;
    if (p.endsShort())
      last = " and " + std::to_string(p.fragments()) + " of " + std::to_string(p.lastStageBytes());
    out += "streams\n  loader    " + weights + ": " + std::to_string((p.stages() - p.endsShort()) * p.fragments()) +
           " stages of " + std::to_string(p.stageBytes()) + " bytes" + last +
           " a task\n  compute   keeps its rows while only " + kept +
           (p.streaming.size() == 1 ? " changes" : " change") + ", " +
           std::to_string(p.pieces() * layout::laneElements * layout::packedElementBytes) +
           " bytes a thread\n  epilogue  " + std::to_string(p.fragments()) +
           (p.fragments() == 1 ? " fragment" : " fragments") + " of 8 x 8 sums\n";
    const EarlyRows::Reader &reader = early.readers[k];
    std::string memories;
    for (unsigned m : reader.memories)
      memories += (memories.empty() ? "" : ", ") + s.memoryName(m);
    out += "  rows      " + (memories.empty() ? "wait for their events: " + reader.why : "early: " + memories) + "\n";
  }
  for (unsigned argument : packed)
    out += "packed: " + graphOp.getArgName(argument).str() + ", tiles of " + std::to_string(layout::packedRows) +
           " x " + std::to_string(layout::packedColumns) + "\n";
  return out;
}

} // namespace evt::emit
