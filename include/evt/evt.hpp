// evt.h for C++: the same operations, with owned programs and exceptions instead of codes.
//
//   evt::Program program("row_sum.evt");
//   program.launch({evt::tensor(x), evt::tensor(y)});                  // DLTensors, in the order of the arguments
//   program.launch({evt::tensor(x), evt::tensor(y)}, {.schedule = "ticket", .workers = 4});
//
// C++17 or later (the second form, with named options, needs C++20). Everything is inline: link evt::runtime.
#ifndef EVT_EVT_HPP
#define EVT_EVT_HPP

#include <evt/evt.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace evt {

// Thrown for every code but EVT_OK; what() is the library's message.
class Error : public std::runtime_error {
public:
  Error(evt_code code, const char *message) : std::runtime_error(message), code_(code) {}
  evt_code code() const noexcept { return code_; }

private:
  evt_code code_;
};

namespace detail {
inline void check(evt_code code) {
  if (code != EVT_OK)
    throw Error(code, evt_last_error());
}
} // namespace detail

// Values of arguments. A tensor is borrowed until the launch returns.
inline evt_value tensor(const DLTensor &value) { return evt_value{&value, 0}; }
inline evt_value index(int64_t value) { return evt_value{nullptr, value}; }

// The fields mean what those of evt_launch_options mean.
struct Options {
  std::string schedule{}; // empty: the first supported; "auto": the one that costs least
  uint32_t workers = 0;
  double watchdog_seconds = EVT_DEFAULT_WATCHDOG_SECONDS;
  uint64_t perturb = 0;
  int64_t inject_call = -1;
  int64_t inject_task = -1;
  const struct evt_hooks *hooks = nullptr;
  void *stream = nullptr;
};

class Program {
public:
  explicit Program(const std::string &directory) {
    evt_program *loaded = nullptr;
    detail::check(evt_program_load(directory.c_str(), &loaded));
    program_.reset(loaded);
  }

  std::string graph() const { return evt_program_graph(program_.get()); }

  // The entries live as long as the program.
  std::vector<const evt_argument_info *> arguments() const {
    return list<evt_argument_info>(evt_program_argument_count, evt_program_argument);
  }
  std::vector<const evt_symbol_info *> symbols() const {
    return list<evt_symbol_info>(evt_program_symbol_count, evt_program_symbol);
  }
  std::vector<const evt_schedule_info *> schedules() const {
    return list<evt_schedule_info>(evt_program_schedule_count, evt_program_schedule);
  }

  void launch(const std::vector<evt_value> &values, const Options &options = {}) {
    evt_launch_options c = EVT_LAUNCH_OPTIONS_INIT;
    c.schedule = options.schedule.empty() ? nullptr : options.schedule.c_str();
    c.workers = options.workers;
    c.watchdog_seconds = options.watchdog_seconds;
    c.perturb = options.perturb;
    c.inject_call = options.inject_call;
    c.inject_task = options.inject_task;
    c.hooks = options.hooks;
    c.stream = options.stream;
    detail::check(evt_program_launch(program_.get(), values.data(), static_cast<uint32_t>(values.size()), &c));
  }

  evt_program *get() const noexcept { return program_.get(); }

private:
  struct Free {
    void operator()(evt_program *program) const { evt_program_free(program); }
  };
  template <typename Info, typename Count, typename Entry>
  std::vector<const Info *> list(Count count, Entry entry) const {
    std::vector<const Info *> infos;
    for (uint32_t i = 0; i < count(program_.get()); ++i)
      infos.push_back(entry(program_.get(), i));
    return infos;
  }

  std::unique_ptr<evt_program, Free> program_;
};

} // namespace evt

#endif
