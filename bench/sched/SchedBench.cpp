// evt bench sched: nanoseconds per empty task under each schedule, beside OpenMP `task depend` and a oneTBB flow graph,
// in one run. Every figure is the median of several runs after one that is not counted.
#include "Dag.h"
#include "Kernels.h"
#include "LoadedPeers.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>

using namespace evt::bench;

namespace {

/// Runs per figure: many for short runs, few for long ones.
double median(int64_t tasks, const std::function<double()> &run) {
  int repeats = tasks <= 1000 ? 51 : tasks <= 10000 ? 21 : tasks <= 100000 ? 9 : 3;
  run();
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i)
    times.push_back(run());
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[repeats / 2];
}

} // namespace

extern "C" {

extern const char *const evt_bench_sched_summary;
const char *const evt_bench_sched_summary = "nanoseconds per empty task: our schedules, OpenMP, oneTBB";

int evt_bench_sched(int argc, char **argv) {
  CLI::App app{"What handing out one task costs: empty tasks in four kinds of graph, nanoseconds per task, medians.\n"
               "OpenMP creates its tasks in each run; the oneTBB graph is built beforehand and not counted."};
  std::vector<std::string> kinds{"chain", "wide", "stencil", "random"};
  std::vector<int64_t> sizes{1000, 10000, 100000, 1000000};
  unsigned workers = 2;
  app.add_option("--graph", kinds, "chain, wide, stencil, random")->delimiter(',')->capture_default_str();
  app.add_option("--tasks", sizes, "tasks in a graph")
      ->check(CLI::Range(1, 1 << 30))
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--workers", workers, "threads")->check(CLI::Range(1, 4096))->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 2 : 0;
  }
  try {
    const Peers &peers = loadedPeers();
    std::printf("ns per task, %u workers\n\n", workers);
    std::printf("| graph | tasks | static | ticket | dynamic | OpenMP | oneTBB | OpenMP / worst of ours | oneTBB / "
                "worst of ours |\n");
    std::printf("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (const std::string &kind : kinds) {
      Kernel kernel(kind);
      for (int64_t size : sizes) {
        Dag dag = makeDag(kind, size);
        auto perTask = [&](const std::function<double()> &run) { return median(size, run) / dag.tasks * 1e9; };
        double ours[3], worst = 0;
        const char *const schedules[] = {"static", "ticket", "dynamic"};
        for (int i = 0; i < 3; ++i) {
          ours[i] = perTask([&] { return kernel.run(dag, schedules[i], workers); });
          worst = std::max(worst, ours[i]);
        }
        double openmp = perTask([&] { return peers.runOpenMp(dag, workers); });
        double tbb;
        {
          TbbGraph graph(dag, workers);
          tbb = perTask([&] { return graph.run(); });
        }
        std::printf("| %s | %d | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", kind.c_str(), dag.tasks, ours[0],
                    ours[1], ours[2], openmp, tbb, openmp / worst, tbb / worst);
        std::fflush(stdout);
      }
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "evt bench sched: %s\n", error.what());
    return 1;
  }
  return 0;
}
}
