// What the commands share: how they announce themselves, how their help looks, and checks of option values.
#ifndef EVT_TOOLS_EVT_COMMAND_H
#define EVT_TOOLS_EVT_COMMAND_H

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
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

/// For an option's check(): takes whole decimal numbers in a range alone, where CLI11 takes the nearest one that its
/// type has. "--repeat is '0', required an integer of 1 to 1000000"
template <class Integer> CLI::Validator integerOf(Integer low, Integer high) {
  return CLI::Validator(
      [low, high](std::string &text) {
        Integer value{};
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || value < low || value > high)
          return "is '" + text + "', required an integer of " + std::to_string(low) + " to " + std::to_string(high);
        text = std::to_string(value); // 010 is 10, which CLI11 takes for 8
        return std::string();
      },
      "");
}
/// What --seed and its like may be.
inline CLI::Validator anySeed() { return integerOf<uint64_t>(0, UINT64_MAX); }
/// What --workers may be, 0 for as many as there are CPUs or SMs; the runtime knows how many there can be.
inline CLI::Validator anyWorkers() { return integerOf<unsigned>(0, UINT32_MAX); }
/// What --repeat may be.
inline CLI::Validator anyRepeat() { return integerOf<int64_t>(1, 1'000'000); }

/// NAME and VALUE of "NAME=VALUE". Throws Failure (wrong input) naming the option if there is no '=' or no name.
std::pair<std::string, std::string> nameAndValue(const std::string &option, const std::string &text);

} // namespace evt::tool

#endif
