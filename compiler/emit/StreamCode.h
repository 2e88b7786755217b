// CUDA code for calls that stream their weights (compiler/roles), and for small calls that whoever completes their
// event runs on the spot.
#pragma once

#include "CodeWriter.h"
#include "GraphCode.h"
#include "ScheduleCode.h"

#include "compiler/roles/StreamedProduct.h"

#include <map>

namespace evt::emit {

/// How each call of a graph runs on CUDA.
struct StreamPlan {
  explicit StreamPlan(const GraphCode &graph);

  struct Call {
    TaskForm form = TaskForm::handedOver;
    std::optional<roles::StreamedProduct> product; // of a call that streams
    std::string why;                               // it does not
  };
  std::vector<Call> calls;
  /// The call that the completion of an event's element runs on the spot.
  std::map<unsigned, unsigned> onCompletion;
  /// Graph arguments whose last two dimensions are packed as tiles of 8 x 32.
  std::vector<unsigned> packed;

  std::vector<TaskForm> forms() const;
  bool streams() const;
  int64_t stageBytes() const; // the largest
  int64_t fragments() const;  // of the largest product
  int64_t rowPieces() const;  // of the deepest product

  /// For people: how each call runs on CUDA, and why one does not stream.
  std::string text(const GraphCode &graph) const;

private:
  void matchProducts(const GraphCode &graph);
  void dropUnpackable(const GraphCode &graph);
  void findInlined(const GraphCode &graph);
};

/// `feed_D`, `rows_D` and `finish_D` of the device functions that stream, `fragment_D` of those run on completion.
void emitStreamBodies(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out);
/// `execute_K` and `finish_K` of calls that stream, `inline_K` of calls run on completion.
void emitStreamTasks(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out);

/// `, P.m0, P.m3, l0, c0, c1`: what a call passes to its device function.
std::string argumentList(const GraphCode &graph, unsigned call);

} // namespace evt::emit
