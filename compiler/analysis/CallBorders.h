// Where a launch's calls change with a symbol: the ways through a program.
//
// A decode chain has calls for up to 8 tokens and others for more. Which of them have tasks is decided by the value of
// `tokens` alone, and 8 is the last value of the first way:
//
//   tokens   1 … 8   start, qkv, out, …              borders of `tokens`: 8
//            9 … 256 start_wide, qkv_wide, …
//
// Between two borders the same calls have tasks, whatever the value. A call that has none for 0 layers gives `layers` a
// border at 0. Launches of one way are the same program, and where that sums in one order, they give the same bits.
#ifndef EVT_COMPILER_ANALYSIS_CALLBORDERS_H
#define EVT_COMPILER_ANALYSIS_CALLBORDERS_H

#include "compiler/analysis/TaskGraph.h"

#include <string>
#include <vector>

namespace evt {

struct CallBorders {
  std::string symbol;
  std::vector<int64_t> last; // values of the symbol, ascending: the last one of each way but the last way
};

/// For each symbol that has some, in their order. A symbol with more than `most` borders (calls for every third value)
/// is left out, and one of whose values some are impossible is as if they were not.
std::vector<CallBorders> callBorders(const TaskGraph &graph, unsigned most = 32);

} // namespace evt

#endif
