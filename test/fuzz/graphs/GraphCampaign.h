// A campaign: so many programs from one seed on, checked, compiled in batches, launched and compared.
#pragma once

#include "compiler/analysis/Findings.h"

#include <cstdint>
#include <string>

namespace evt::fuzz {

struct CampaignOptions {
  std::string folder;
  int graphs = 0;
  int mutants = 0;
  uint64_t seed = 1;
  int batch = 25;
  int launches = 6;
  unsigned long operations = ProofLimits().operations;
  bool proofsOnly = false; // compile and launch nothing
  bool verbose = false;    // a line for each program
};

/// Runs well-formed graphs and prints what failed and a summary. Returns the number of failures.
int runGraphs(const CampaignOptions &options);

/// The same for programs with one mistake (MutantCampaign.cpp).
int runMutants(const CampaignOptions &options);

} // namespace evt::fuzz
