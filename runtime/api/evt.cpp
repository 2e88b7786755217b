// The C interface: every function turns exceptions into a code and a text, and nothing else.
#include "evt/evt.h"
#include "evt/memory.h"

#include "runtime/Error.h"
#include "runtime/launch/Program.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>

using evt::runtime::Argument;
using evt::runtime::Device;
using evt::runtime::Error;
using evt::runtime::LaunchOptions;
using evt::runtime::Manifest;
using evt::runtime::Program;

namespace {

thread_local std::string lastError;

template <typename Body> evt_code guarded(Body &&body) {
  try {
    lastError.clear();
    body();
    return EVT_OK;
  } catch (const Error &error) {
    lastError = error.what();
    return error.code();
  } catch (const std::bad_alloc &) {
    lastError = "out of memory";
    return EVT_ERROR_MEMORY;
  } catch (const std::exception &error) {
    lastError = std::string("internal error: ") + error.what();
    return EVT_ERROR_INTERNAL;
  }
}

void require(bool condition, const char *what) {
  if (!condition)
    throw Error(EVT_ERROR_ARGUMENT, what);
}

evt_access toC(evt::runtime::Access access) {
  switch (access) {
  case evt::runtime::Access::read:
    return EVT_ACCESS_READ;
  case evt::runtime::Access::write:
    return EVT_ACCESS_WRITE;
  default:
    return EVT_ACCESS_READWRITE;
  }
}

LaunchOptions fromC(const evt_launch_options *given) {
  evt_launch_options options = EVT_LAUNCH_OPTIONS_INIT;
  if (given) {
    // An older caller's structure is a prefix of ours; a newer one has options this library does not know.
    if (given->size < sizeof given->size || given->size > sizeof options)
      throw Error(EVT_ERROR_OPTION, "size of the launch options is " + std::to_string(given->size) +
                                        ", this library knows " + std::to_string(sizeof options));
    std::memcpy(&options, given, given->size);
  }
  return LaunchOptions{options.schedule ? options.schedule : "",
                       options.workers,
                       options.watchdog_seconds,
                       options.perturb,
                       options.inject_call,
                       options.inject_task,
                       options.hooks,
                       options.stream,
                       options.first_call,
                       options.last_call,
                       options.iteration,
                       nullptr};
}

} // namespace

// A program and the C image of its manifest, whose pointers stay valid as long as it lives.
struct evt_program {
  explicit evt_program(const char *directory) : program(evt::runtime::loadArtifact(directory)) {
    const Manifest &manifest = program.manifest();
    for (const Argument &argument : manifest.arguments) {
      auto texts = std::make_unique<const char *[]>(argument.dims.size() + 1);
      for (size_t d = 0; d < argument.dims.size(); ++d)
        texts[d] = argument.dims[d].text().c_str();
      evt_argument_info info{};
      info.name = argument.name.c_str();
      if (argument.kind == Argument::Kind::tensor) {
        info.kind = EVT_ARGUMENT_TENSOR;
        info.type = toDLPack(argument.type);
        info.rank = static_cast<uint32_t>(argument.dims.size());
        info.dims = texts.get();
        info.access = toC(argument.access);
        info.immutable = argument.immutable;
        info.align = static_cast<uint64_t>(argument.align);
        if (argument.packed) {
          info.packed_rows = static_cast<uint32_t>(argument.packed->rows);
          info.packed_columns = static_cast<uint32_t>(argument.packed->columns);
        }
      } else {
        info.kind = EVT_ARGUMENT_INDEX;
        info.symbol = manifest.symbols[argument.symbol].name.c_str();
      }
      arguments.push_back(info);
      dimTexts.push_back(std::move(texts));
    }
    for (const evt::runtime::Symbol &symbol : manifest.symbols)
      symbols.push_back({symbol.name.c_str(), symbol.min, symbol.max});
    for (size_t s = 0; s < manifest.schedules.size(); ++s)
      schedules.push_back(
          {evt::runtime::scheduleNames[s].data(), manifest.schedules[s].supported, manifest.schedules[s].why.c_str()});
  }

  Program program;
  std::vector<evt_argument_info> arguments;
  std::vector<std::unique_ptr<const char *[]>> dimTexts;
  std::vector<evt_symbol_info> symbols;
  std::vector<evt_schedule_info> schedules;
};

namespace {
template <typename Info> const Info *entry(const std::vector<Info> &list, uint32_t index) {
  return index < list.size() ? &list[index] : nullptr;
}

template <typename Body> evt_code onDevice(evt_program *program, Body &&body) {
  return guarded([&] {
    require(program != nullptr, "program is null");
    body(program->program.device());
  });
}
template <typename Make> evt_code made(evt_program *program, void **result, Make &&make) {
  return onDevice(program, [&](Device &device) {
    require(result != nullptr, "pointer to the result is null");
    *result = nullptr;
    *result = make(device);
  });
}

template <typename Info> uint32_t count(const std::vector<Info> &list) { return static_cast<uint32_t>(list.size()); }
} // namespace

extern "C" {

const char *evt_version(void) { return EVT_VERSION; }
uint32_t evt_api_version(void) { return EVT_API_VERSION; }
const char *evt_last_error(void) { return lastError.c_str(); }

evt_code evt_program_load(const char *directory, evt_program **program) {
  return guarded([&] {
    require(program != nullptr, "pointer to the program is null");
    *program = nullptr;
    require(directory != nullptr, "directory of the artifact is null");
    *program = new evt_program(directory);
  });
}

void evt_program_free(evt_program *program) { delete program; }

const char *evt_program_graph(const evt_program *program) { return program->program.manifest().graph.c_str(); }

uint32_t evt_program_argument_count(const evt_program *program) { return count(program->arguments); }
const evt_argument_info *evt_program_argument(const evt_program *program, uint32_t index) {
  return entry(program->arguments, index);
}
uint32_t evt_program_symbol_count(const evt_program *program) { return count(program->symbols); }
const evt_symbol_info *evt_program_symbol(const evt_program *program, uint32_t index) {
  return entry(program->symbols, index);
}
uint32_t evt_program_schedule_count(const evt_program *program) { return count(program->schedules); }
const evt_schedule_info *evt_program_schedule(const evt_program *program, uint32_t index) {
  return entry(program->schedules, index);
}

evt_code evt_program_launch(evt_program *program, const evt_value *values, uint32_t count,
                            const evt_launch_options *options) {
  return guarded([&] {
    require(program != nullptr, "program is null");
    require(values != nullptr || count == 0, "array of argument values is null");
    program->program.launch({values, count}, fromC(options));
  });
}

DLDevice evt_program_device(const evt_program *program) {
  return const_cast<evt_program *>(program)->program.device().place();
}

evt_code evt_program_prepare(evt_program *program, const evt_value *values, uint32_t count,
                             const evt_launch_options *options) {
  return guarded([&] {
    require(program != nullptr, "program is null");
    require(values != nullptr || count == 0, "array of argument values is null");
    program->program.prepare({values, count}, fromC(options));
  });
}

evt_code evt_program_finish(evt_program *program, void *stream) {
  return guarded([&] {
    require(program != nullptr, "program is null");
    program->program.finish(stream);
  });
}

evt_code evt_program_pack(evt_program *program, uint32_t argument, void *to, const void *from, DLDataType from_type,
                          int64_t first_row, int64_t rows, int64_t columns, void *stream) {
  return onDevice(program, [&](Device &device) {
    const std::vector<Argument> &arguments = program->program.manifest().arguments;
    require(argument < arguments.size(), "number of the argument is out of range");
    device.pack({arguments[argument], to, from, from_type, first_row, rows, columns}, stream);
  });
}

evt_code evt_memory_allocate(evt_program *program, uint64_t bytes, void **memory) {
  return made(program, memory, [&](Device &device) { return device.allocate(bytes); });
}
evt_code evt_memory_free(evt_program *program, void *memory) {
  return onDevice(program, [&](Device &device) { device.free(memory); });
}
evt_code evt_memory_allocate_host(evt_program *program, uint64_t bytes, void **memory) {
  return made(program, memory, [&](Device &device) { return device.allocateHost(bytes); });
}
evt_code evt_memory_free_host(evt_program *program, void *memory) {
  return onDevice(program, [&](Device &device) { device.freeHost(memory); });
}
evt_code evt_memory_copy(evt_program *program, void *to, const void *from, uint64_t bytes, evt_copy kind,
                         void *stream) {
  return onDevice(program, [&](Device &device) { device.copy(to, from, bytes, kind, stream); });
}
evt_code evt_memory_fill(evt_program *program, void *to, uint8_t value, uint64_t bytes, void *stream) {
  return onDevice(program, [&](Device &device) { device.fill(to, value, bytes, stream); });
}
evt_code evt_memory_used(evt_program *program, evt_memory_use *use, uint64_t size) {
  return guarded([&] {
    require(program != nullptr, "program is null");
    require(use != nullptr, "pointer to the use of memory is null");
    const evt_memory_use now = program->program.memoryUsed();
    std::memcpy(use, &now, std::min<size_t>(size, sizeof now));
  });
}

evt_code evt_stream_create(evt_program *program, void **stream) {
  return made(program, stream, [](Device &device) { return device.createStream(); });
}
evt_code evt_stream_destroy(evt_program *program, void *stream) {
  return guarded([&] {
    require(program != nullptr, "program is null");
    program->program.destroyStream(stream);
  });
}
evt_code evt_stream_synchronize(evt_program *program, void *stream) {
  return onDevice(program, [&](Device &device) { device.synchronize(stream); });
}
evt_code evt_stream_wait(evt_program *program, void *stream, void *event) {
  return onDevice(program, [&](Device &device) { device.streamWait(stream, event); });
}

evt_code evt_event_create(evt_program *program, void **event) {
  return made(program, event, [](Device &device) { return device.createEvent(); });
}
evt_code evt_event_destroy(evt_program *program, void *event) {
  return onDevice(program, [&](Device &device) { device.destroyEvent(event); });
}
evt_code evt_event_record(evt_program *program, void *event, void *stream) {
  return onDevice(program, [&](Device &device) { device.record(event, stream); });
}
evt_code evt_event_wait(evt_program *program, void *event) {
  return onDevice(program, [&](Device &device) { device.wait(event); });
}
evt_code evt_event_elapsed(evt_program *program, void *begin, void *end, double *seconds) {
  return onDevice(program, [&](Device &device) {
    require(seconds != nullptr, "pointer to the seconds is null");
    *seconds = device.elapsed(begin, end);
  });
}

} // extern "C"
