#include "runtime/launch/ScheduleChoice.h"

#include "runtime/Error.h"

#include <algorithm>
#include <cstdio>

namespace evt::runtime {

// Of a GPU: an SM's part of the memory's and the tensor cores' rates; what phases cost as measured on decode chains. Of
// a CPU: a core of a server.
const WorkerRates cpuRates{1e10, 2e10, 0.08, 0.08, 0.3e-6, 0, 20e-9};
const WorkerRates gpuRates{3.5e10, 5e12, 0.0005, 0.03, 0.32e-6, 5e-6, 0.5e-9};

namespace {

constexpr double raggedExcess = 0.5; // of a ragged phase's time

// "41.9 µs", "3.56 ms"
std::string briefly(double seconds) {
  char text[32];
  if (seconds < 1e-3)
    std::snprintf(text, sizeof text, "%.1f µs", seconds * 1e6);
  else
    std::snprintf(text, sizeof text, "%.2f ms", seconds * 1e3);
  return text;
}

} // namespace

std::array<double, 3> overheadsOf(std::span<const CallWork> calls, unsigned workers, const WorkerRates &rates) {
  std::array<double, 3> added{};
  for (const CallWork &call : calls) {
    if (call.tasks <= 0)
      continue;
    double phases = static_cast<double>(std::max<int64_t>(call.phases, 1));
    double tasksEach = static_cast<double>(call.tasks) / phases;
    double atOnce = std::min(tasksEach, static_cast<double>(workers));
    double bytesTime = call.bytes / rates.bytesPerSecond / atOnce, opsTime = call.ops / rates.opsPerSecond / atOnce;
    // With a task or less for each worker there is nothing to divide otherwise.
    bool divisible = tasksEach > workers;
    bool follows = call.waits > 0 || call.phases > 1;
    if (call.ragged)
      added[EVT_STATIC] += raggedExcess * std::max(bytesTime, opsTime);
    else if (divisible && opsTime > bytesTime)
      added[EVT_STATIC] += rates.opSkew * opsTime;
    else if (divisible && call.waits > 0)
      added[EVT_STATIC] += rates.byteSkew * bytesTime;
    if (follows) {
      added[EVT_TICKET] += rates.ticketPhase * phases;
      added[EVT_DYNAMIC] += rates.dynamicPhase * phases;
    }
    added[EVT_DYNAMIC] += rates.dynamicTask * static_cast<double>(call.tasks);
  }
  return added;
}

ScheduleChoice chooseSchedule(std::span<const CallWork> calls, unsigned workers, const WorkerRates &rates,
                              const std::array<ScheduleSupport, 3> &support) {
  std::array<double, 3> added = overheadsOf(calls, workers, rates);
  ScheduleChoice choice;
  bool found = false;
  for (unsigned s = 0; s < added.size(); ++s)
    if (support[s].supported && (!found || (workers > 1 && added[s] < added[choice.schedule]))) {
      choice.schedule = static_cast<evt_schedule>(s);
      found = true;
    }
  choice.why = std::string(scheduleNames[choice.schedule]) + ": ";
  if (workers <= 1) {
    choice.why += "one worker has nobody to share with";
    return choice;
  }
  choice.why += "waiting for the slowest worker would add " + briefly(added[EVT_STATIC]) +
                " (static), taking tickets " + briefly(added[EVT_TICKET]) + ", handing out ready tasks " +
                briefly(added[EVT_DYNAMIC]) + " (dynamic)";
  for (unsigned s = 0; s < added.size(); ++s)
    if (!support[s].supported)
      choice.why += "; " + std::string(scheduleNames[s]) + " is not supported";
  return choice;
}

ScheduleChoice chooseSchedule(const Manifest &manifest, std::span<const int64_t> symbols, const Shapes &shapes,
                              unsigned workers) {
  auto firstSupported = [&](const std::string &because) {
    auto first = std::find_if(manifest.schedules.begin(), manifest.schedules.end(),
                              [](const ScheduleSupport &support) { return support.supported; });
    size_t number = static_cast<size_t>(first - manifest.schedules.begin());
    return ScheduleChoice{static_cast<evt_schedule>(number), std::string(scheduleNames[number]) + ": " + because};
  };
  if (!manifest.cost)
    return firstSupported("the artifact says nothing about costs, so the first that it supports");
  std::vector<CallWork> calls;
  try {
    for (size_t k = 0; k < manifest.calls.size(); ++k) {
      const CallCost &cost = *manifest.calls[k].cost;
      calls.push_back({shapes.calls[k].tasks, cost.phases.evaluate(symbols), cost.waits,
                       static_cast<double>(cost.bytes.evaluate(symbols)),
                       static_cast<double>(cost.ops.evaluate(symbols)), manifest.calls[k].ragged.has_value()});
    }
  } catch (const Error &) {
    return firstSupported("its costs do not fit in 64 bits, so the first that it supports");
  }
  return chooseSchedule(calls, workers, manifest.cuda ? gpuRates : cpuRates, manifest.schedules);
}

} // namespace evt::runtime
