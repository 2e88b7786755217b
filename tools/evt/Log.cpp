#include "tools/evt/Log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <unistd.h>

namespace evt::tool {

const std::vector<std::string> &logLevels() {
  static const std::vector<std::string> levels{"error", "warn", "info", "debug", "trace"};
  return levels;
}

void startLog(const std::string &level) {
  auto logger = std::make_shared<spdlog::logger>("evt", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("evt: %l: %v");
  logger->set_level(spdlog::level::from_str(level == "warn" ? "warning" : level));
  spdlog::set_default_logger(logger);
}

// The message is an argument, never the format: it may hold braces.
void logError(const std::string &message) { spdlog::error("{}", message); }
void logWarning(const std::string &message) { spdlog::warn("{}", message); }
void logInfo(const std::string &message) { spdlog::info("{}", message); }
void logDebug(const std::string &message) { spdlog::debug("{}", message); }

void logStep(const std::string &step, double seconds) {
  std::string line = fmt::format("{:<14} {:.3f} s", step, seconds);
  if (spdlog::should_log(spdlog::level::info))
    spdlog::info("{}", line);
  else if (isatty(STDERR_FILENO))
    fmt::print(stderr, "  {}\n", line);
}

} // namespace evt::tool
