// CUDA code for calls that stream their weights (compiler/roles), and for small calls that whoever completes their
// event runs on the spot.
#pragma once

#include "CodeWriter.h"
#include "EarlyRows.h"
#include "FragmentCode.h"
#include "GraphCode.h"
#include "ProductForms.h"
#include "ScheduleCode.h"
#include "WaitSinking.h"

#include <map>

namespace evt::emit {

/// How each call of a graph runs on CUDA. Device functions have been split (splitProducts).
struct StreamPlan {
  explicit StreamPlan(const GraphCode &graph);

  struct Call {
    TaskForm form = TaskForm::handedOver;
    std::optional<roles::StreamedProduct> product; // of a call that streams
    /// Of a call whose tasks complete the elements of an event that runs another call: where one warp ends all tasks of
    /// an element, it needs nobody else to complete it.
    std::optional<ElementDeal> deal;
    /// Of a call that streams: the first one whose tasks have the same rows and row values, and wait for the same. Rows
    /// that are in registers stay there from one to the other.
    unsigned rowsOf = 0;
    std::optional<roles::TiledProduct> tiled; // of a call that multiplies tiles
    std::vector<unsigned> aligned;            // of such a call: arguments that are accessed by 16 bytes
    std::optional<SunkWait> sunk;             // of such a call: a wait that loaders pass column by column
    std::optional<TaskForm> side; // streamed or tiled: it has tasks only where such calls have; see variants
    /// Its device function has a body that all compute warps run.
    bool hasBody() const { return form == TaskForm::handedOver || form == TaskForm::joined; }
  };
  std::vector<Call> calls;
  /// The call that the completion of an event's element runs on the spot.
  std::map<unsigned, unsigned> onCompletion;
  /// Graph arguments whose last two dimensions are packed as tiles of 8 x 32.
  std::vector<unsigned> packed;
  /// Tensors as the copy engine fetches them: so many rows of 64 columns, or of several times that, each 64 for
  /// themselves; of packed ones whole tiles.
  /// What is outside is zero; or not, where it makes no difference (rows of results that are not stored) and is faster.
  struct Map {
    unsigned memory;
    int64_t rows, columns;
    bool mayReadOutside;
    bool operator==(const Map &other) const {
      return memory == other.memory && rows == other.rows && columns == other.columns &&
             mayReadOutside == other.mayReadOutside;
    }
  };
  std::vector<Map> maps;
  /// Memories that must begin at a multiple of 16 bytes.
  std::vector<unsigned> aligned;
  /// Rows that are read before their events are released.
  EarlyRows early;
  /// The number of the map through which a call of form `tiled` fetches an operand for such a stage.
  unsigned mapOf(const GraphCode &graph, unsigned call, const roles::RoleProduct::Operand &operand,
                 const roles::TiledProduct::Stage &stage) const;
  /// Of such a call: whether fewer rows than a tile has are fetched where there are no more.
  bool mayHaveFewRows(const GraphCode &graph, unsigned call) const;

  /// Of a function whose calls stream: whether nobody stores what it finds for rows outside the memory it multiplies.
  bool dropsRowsOutside(const GraphCode &graph, ir::DeviceOp device) const;

  std::vector<TaskForm> forms() const;
  /// For each call: which event's completion by its tasks runs another on the spot, if there is one.
  std::vector<std::optional<unsigned>> completed(const GraphCode &graph) const;
  std::vector<std::optional<ElementDeal>> deals() const;
  bool streams() const;
  /// Products of the same extents share their code: the different ones, and which of them a call has.
  std::vector<const roles::StreamedProduct *> shapes() const;
  unsigned shapeOf(unsigned call) const;
  int64_t stageBytes() const; // the largest
  /// Of weights, those of the smallest tasks that matter: all that have less stream no more than an eighth of them.
  int64_t taskBytes(const GraphCode &graph) const;
  int64_t fragments() const;      // of the largest product
  int64_t rowPieces() const;      // of the deepest product
  int64_t leastRowPieces() const; // of the shallowest
  bool tiles() const;
  int64_t tileStageBytes() const; // the largest

  /// A kernel without the code of calls that have no tasks in its launches: what streams and what multiplies tiles
  /// want the same registers and shared memory.
  struct Variant {
    std::string name; // empty if there is one for all launches
    bool streams, tiles;
  };
  /// Those that have fewer tasks first. `areApart(a, b)` says that two calls never have tasks in the same launch; calls
  /// that neither stream nor multiply tiles, and have tasks only where others do one of both, are of that side.
  std::vector<Variant> variants(llvm::function_ref<bool(unsigned, unsigned)> areApart);
  /// Calls that a variant has no code for.
  std::vector<unsigned> without(const Variant &variant) const;

  /// For people: how each call runs on CUDA, and why one is not split.
  std::string text(const GraphCode &graph, llvm::ArrayRef<Unsplit> unsplit) const;

private:
  void listMaps(const GraphCode &graph);
  void alignCaches(const GraphCode &graph);
  void findInlined(const GraphCode &graph);
  void dealElements(const GraphCode &graph, ir::EventOp event);
  void shareRows(const GraphCode &graph);
  void sinkWaits(const GraphCode &graph);
};

/// Tells the code of what follows a product which sums it has, and which coordinates stream.
void setProduct(FragmentCode &code, ir::DeviceOp device, const roles::StreamedProduct &product);

/// `feed_D`, `rows_D`, `keep_D` and `finish_D` of the device functions that stream, `fragment_D` of those run on
/// completion.
void emitStreamBodies(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out);
/// `task_K`, `stream_waits_K`, `stream_open_K` and `finish_K` of calls that stream, `inline_K` of calls run on
/// completion.
void emitStreamTasks(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out);

/// The coordinates of `task`, by their names.
void declareCoords(const GraphCode &graph, unsigned call, CodeWriter &out);
/// Whether what a call's tasks wait for depends on a coordinate of its grid.
bool waitsDependOn(const GraphCode &graph, unsigned call, unsigned coordinate);
/// `, P.m0, P.m3, l0, c0, c1`: what a call passes to its device function; `m3` for a memory that is `local`.
std::string argumentList(const GraphCode &graph, unsigned call, llvm::ArrayRef<unsigned> local = {});

} // namespace evt::emit
