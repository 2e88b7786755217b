// What the commands share: how they announce themselves, how their help looks, and checks of option values.
#ifndef EVT_TOOLS_EVT_COMMAND_H
#define EVT_TOOLS_EVT_COMMAND_H

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace evt::tool {

/// What the chosen command does once the whole command line is parsed. It throws Failure or runtime::Error.
using Action = std::function<void()>;

/// The command line under construction.
struct Commands {
  CLI::App &app;
  Action &chosen;

  /// Declares a command that does `action`. Its --help shows `purpose`, a paragraph, and `examples`, runnable lines;
  /// the list of commands shows `summary`.
  CLI::App *add(const std::string &name, const std::string &summary, const std::string &purpose,
                const std::vector<std::string> &examples, Action action);
};

/// The help's layout: text wrapped to 100 columns, defaults after the descriptions.
std::shared_ptr<CLI::Formatter> helpLayout();

/// An option that may be given several times, one value each.
CLI::Option *addRepeatable(CLI::App *command, const std::string &name, std::vector<std::string> &values,
                           const std::string &description);

/// Throws Failure (wrong input) unless `found` is one of `allowed`:
/// "--schedule is 'fast', required one of static, ticket, dynamic, auto".
void requireOneOf(const std::string &option, const std::string &found, const std::vector<std::string> &allowed);

/// Throws Failure (wrong input): "--repeat is 0, required at least 1".
void requirePositive(const std::string &option, int64_t found);

/// NAME and VALUE of "NAME=VALUE". Throws Failure (wrong input) naming the option if there is no '=' or no name.
std::pair<std::string, std::string> nameAndValue(const std::string &option, const std::string &text);

} // namespace evt::tool

#endif
