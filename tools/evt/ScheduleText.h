// How a program will be scheduled, for people: `evt show --stage schedule`.
//
//   graph row_sum: 2 calls, 1 event
//     static   supported
//     ticket   supported
//     dynamic  supported; queue of at most n * 4 + n tasks
//
//   partial(i, j): n x 4 tasks
//     carried  none: the call does not depend on itself
//     static   workers share i x j, a range each
//     ticket   1 to 64 neighbouring tasks a number, at least 8 numbers a worker if there are that many
#ifndef EVT_TOOLS_EVT_SCHEDULETEXT_H
#define EVT_TOOLS_EVT_SCHEDULETEXT_H

#include "compiler/emit/KernelCode.h"

#include <nlohmann/json.hpp>

#include <string>

namespace evt::tool {

std::string scheduleText(const emit::GraphCode &graph, const nlohmann::ordered_json &manifest,
                         const emit::ScheduleFacts &facts);

} // namespace evt::tool

#endif
