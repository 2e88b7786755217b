// evt: checks, compiles, runs and shows programs.
#include "tools/evt/CommandLine.h"

int main(int argc, char **argv) { return evt::tool::runCommandLine(argc, argv); }
