#include "tools/evt/CommandLine.h"

#include "evt/evt.h"
#include "models/config/Problems.h"
#include "runtime/Error.h"
#include "system/Leftovers.h"
#include "tools/evt/Bench.h"
#include "tools/evt/Check.h"
#include "tools/evt/Command.h"
#include "tools/evt/Compile.h"
#include "tools/evt/Demo.h"
#include "tools/evt/Failure.h"
#include "tools/evt/Generate.h"
#include "tools/evt/Log.h"
#include "tools/evt/Run.h"
#include "tools/evt/Show.h"
#include "tools/evt/Version.h"
#include "tools/evt/Weights.h"

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

namespace evt::tool {
namespace {

ExitCode exitCodeOf(evt_code code) {
  switch (code) {
  case EVT_OK:
    return ExitCode::done;
  case EVT_ERROR_FILE:
  case EVT_ERROR_ARTIFACT:
  case EVT_ERROR_ARGUMENT:
  case EVT_ERROR_OPTION:
    return ExitCode::wrongInput;
  case EVT_ERROR_INCOMPATIBLE:
  case EVT_ERROR_MEMORY:
    return ExitCode::missing;
  case EVT_ERROR_FAULT:
  case EVT_ERROR_STUCK:
    return ExitCode::stopped;
  case EVT_ERROR_INTERNAL:
    break;
  }
  return ExitCode::defect;
}

// CLI11's messages in this tool's form: lower case first, no final period, and where to read on.
std::string reworded(const CLI::ParseError &error, const CLI::App &app) {
  std::string command = "evt";
  for (const CLI::App *at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  std::string text = error.what();
  if (dynamic_cast<const CLI::ExtrasError *>(&error)) {
    size_t colon = text.rfind(": ");
    text = "unknown argument '" + (colon == std::string::npos ? text : text.substr(colon + 2)) + "'";
  } else if (size_t is = text.find(": is '"); dynamic_cast<const CLI::ValidationError *>(&error) && is != text.npos) {
    text.erase(is, 1); // of a check of ours
  } else if (size_t equals = text.find(" = ");
             dynamic_cast<const CLI::ConversionError *>(&error) && equals != std::string::npos) {
    size_t colon = text.find(": ");
    text = text.substr(colon + 2, equals - colon - 2) + " is '" + text.substr(equals + 3) + "', required a number";
  } else if (dynamic_cast<const CLI::RequiredError *>(&error) && app.get_subcommands().empty()) {
    std::vector<std::string> rest = app.remaining();
    text = rest.empty() ? "a command is required" : "unknown command '" + rest[0] + "'";
  } else if (!text.empty() && text.size() > 1 && std::islower(static_cast<unsigned char>(text[1]))) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  while (!text.empty() && (text.back() == '.' || text.back() == '\n'))
    text.pop_back();
  return text + "; '" + command + " --help' says what there is";
}

int end(ExitCode code, const std::string &message) {
  stopIfInterrupted();
  std::cout.flush();
  if (!message.empty())
    logError(message);
  return static_cast<int>(code);
}

int guarded(const Action &action) {
  try {
    action();
    std::cout.flush();
    if (!std::cout)
      return end(ExitCode::wrongInput, std::string("cannot write to the standard output: ") + std::strerror(errno));
    return static_cast<int>(ExitCode::done);
  } catch (const Failure &failure) {
    return end(failure.code(), failure.what());
  } catch (const runtime::Error &error) {
    return end(exitCodeOf(error.code()), error.what());
  } catch (const models::Problems &problems) {
    return end(ExitCode::wrongInput, problems.what());
  } catch (const std::bad_alloc &) {
    return end(ExitCode::missing, "not enough memory");
  } catch (const std::filesystem::filesystem_error &error) {
    return end(ExitCode::wrongInput, error.what());
  } catch (const std::exception &error) {
    return end(ExitCode::defect, std::string("internal error: ") + error.what());
  }
}

} // namespace

int runCommandLine(int argc, char **argv) {
  startLog("warn");
  cleanUpWhenInterrupted();
  if (std::optional<int> code = runRegisteredBench(argc, argv))
    return *code;
  CLI::App app("evt compiles a graph of tiled tensor operators into one persistent kernel, proves for every shape that "
               "its events order it, and runs, checks and shows the result.",
               "evt");
  app.formatter(helpLayout());
  app.set_help_flag("-h,--help", "show this help and exit");
  app.set_version_flag("-V,--version", "evt " EVT_VERSION, "print the version and exit");
  app.require_subcommand(1);
  app.fallthrough(); // --log-level may stand before or after the command
  app.footer("Examples:\n"
             "  evt check examples/row_sum/row_sum.mlir\n"
             "  evt run examples/row_sum/row_sum.mlir --size n=37 --in x=random\n"
             "  evt demo\n\n"
             "'evt COMMAND --help' explains a command. docs/guide/tool.md is the guide, and\n"
             "docs/guide/exit-codes.md lists the exit codes.");
  std::string level = "warn";
  app.add_option("--log-level", level, "what to say on stderr: error, warn, info, debug or trace")
      ->type_name("LEVEL")
      ->capture_default_str();

  Action chosen;
  Commands commands{app, chosen};
  addCheck(commands);
  addCompile(commands);
  addRun(commands);
  addShow(commands);
  addBench(commands);
  addDemo(commands);
#ifdef EVT_WITH_MODELS
  addWeights(commands);
  addGenerate(commands);
#endif
  addVersion(commands);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &asked) {
    return app.exit(asked); // --help, --version
  } catch (const CLI::ParseError &error) {
    return end(ExitCode::wrongInput, reworded(error, app));
  }
  return guarded([&] {
    requireOneOf("--log-level", level, logLevels());
    startLog(level);
    chosen();
  });
}

} // namespace evt::tool
