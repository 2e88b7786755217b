// Random well-formed programs through the whole compiler and runtime.
//
//   evt_graph_fuzz SCRATCH --count 200 --seed 1        well-formed graphs
//   evt_graph_fuzz SCRATCH --mutants 300 --seed 1      graphs with one mistake in their events
//
// Every program must be accepted, an affine one without obligations; every launch, whatever the schedule, the number of
// workers and the timing, must give the bits of the sequential reference. Every mistake that brute force finds must be
// found by the proof or, where the proof leaves it open, by a checked run. A failure prints the program and its seed.
#include "GraphCampaign.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>

int main(int argc, char **argv) {
  evt::fuzz::CampaignOptions options;
  CLI::App app{"random programs through the whole compiler and runtime"};
  app.add_option("SCRATCH", options.folder, "where kernels are compiled; emptied first")->required();
  app.add_option("--count", options.graphs, "well-formed graphs");
  app.add_option("--mutants", options.mutants, "graphs with one mistake");
  app.add_option("--seed", options.seed, "of the first program; each has its own");
  app.add_option("--batch", options.batch, "kernels in one file");
  app.add_option("--launches", options.launches, "launches of each graph");
  app.add_option("--operations", options.operations, "what one question may cost the proof");
  app.add_flag("--proofs-only", options.proofsOnly, "compile and launch nothing");
  app.add_flag("--verbose", options.verbose, "a line for each program");
  CLI11_PARSE(app, argc, argv);
  std::error_code ignored;
  std::filesystem::remove_all(options.folder, ignored);
  int failures = 0;
  if (options.graphs > 0)
    failures += evt::fuzz::runGraphs(options);
  if (options.mutants > 0)
    failures += evt::fuzz::runMutants(options);
  return failures ? 1 : 0;
}
