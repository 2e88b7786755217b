// The command line: `evt [--log-level LEVEL] COMMAND …`. Each command is one header/source pair, whose add…() declares
// its options and its help.
#ifndef EVT_TOOLS_EVT_COMMANDLINE_H
#define EVT_TOOLS_EVT_COMMANDLINE_H

namespace evt::tool {

/// Parses, runs the command and returns the exit code (docs/guide/exit-codes.md). Every error ends here.
int runCommandLine(int argc, char **argv);

} // namespace evt::tool

#endif
