#include "tools/evt/Command.h"

#include "tools/evt/Failure.h"
#include "tools/evt/Words.h"

#include <algorithm>
#include <sstream>

namespace evt::tool {
namespace {

constexpr size_t helpWidth = 100;
constexpr size_t nameWidth = 30;
constexpr char glue = '\x01'; // a space at which no line is broken

// The words of a text in lines of at most `width`, the second and further ones indented. Line breaks stay.
std::string wrapped(const std::string &text, size_t indent, size_t width) {
  std::string out, line, word;
  std::istringstream lines(text);
  bool first = true;
  for (std::string source; std::getline(lines, source); first = false) {
    if (!first)
      out += line + "\n" + std::string(indent, ' ');
    line.clear();
    for (std::istringstream words(source); words >> word;) {
      if (!line.empty() && indent + line.size() + 1 + word.size() > width) {
        out += line + "\n" + std::string(indent, ' ');
        line.clear();
      }
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return out + line;
}

class HelpLayout : public CLI::Formatter {
public:
  std::string make_option(const CLI::Option *option, bool positional) const override {
    std::string name = "  " + make_option_name(option, positional);
    std::string type = option->get_type_name(); // a check's name follows a colon
    if (!positional && option->get_type_size() != 0 && !type.empty())
      name += " " + type.substr(0, type.find(':'));
    std::string text = option->get_description();
    if (!option->get_default_str().empty())
      text += std::string(" (default:") + glue + option->get_default_str() + ")";
    return row(name, text);
  }

  std::string make_subcommand(const CLI::App *command) const override {
    std::string text = command->get_description();
    return row("  " + command->get_display_name(true), text.substr(0, text.find('\n')));
  }

  std::string make_description(const CLI::App *app) const override {
    return wrapped(app->get_description(), 0, helpWidth) + "\n\n";
  }

private:
  static std::string row(std::string name, const std::string &text) {
    name +=
        name.size() + 2 > nameWidth ? "\n" + std::string(nameWidth, ' ') : std::string(nameWidth - name.size(), ' ');
    std::string lines = wrapped(text, nameWidth, helpWidth);
    std::replace(lines.begin(), lines.end(), glue, ' ');
    return name + lines + "\n";
  }
};

} // namespace

std::shared_ptr<CLI::Formatter> helpLayout() {
  auto layout = std::make_shared<HelpLayout>();
  layout->label("SUBCOMMAND", "COMMAND");
  layout->label("Positionals", "Arguments");
  return layout;
}

CLI::App *Commands::add(const std::string &name, const std::string &summary, const std::string &purpose,
                        const std::vector<std::string> &examples, Action action) {
  CLI::App *command = app.add_subcommand(name, summary + "\n\n" + purpose);
  command->group("Commands");
  command->footer("Examples:\n  " + joined(examples, "\n  "));
  command->set_help_flag("-h,--help", "show this help and exit");
  command->callback([&chosen = chosen, action = std::move(action)] { chosen = action; });
  return command;
}

CLI::Option *addRepeatable(CLI::App *command, const std::string &name, std::vector<std::string> &values,
                           const std::string &description) {
  return command->add_option(name, values, description)->allow_extra_args(false);
}

void requireOneOf(const std::string &option, const std::string &found, const std::vector<std::string> &allowed) {
  if (std::find(allowed.begin(), allowed.end(), found) == allowed.end())
    throw Failure(ExitCode::wrongInput, option + " is '" + found + "', required one of " + joined(allowed));
}

std::pair<std::string, std::string> nameAndValue(const std::string &option, const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw Failure(ExitCode::wrongInput, option + " is '" + text + "', required NAME=VALUE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

} // namespace evt::tool
