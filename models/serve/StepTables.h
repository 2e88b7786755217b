// The tables of a step on the device: what the host knows about a batch and the kernel reads.
//
// A table is a name and values. It is copied to the device when its values are not those of the step before, by a
// stream of its own, while steps before still run; so every table has several places there, which it takes in turn:
//
//   step   positions    pages    copied
//   0      [4]          [[7]]    both, to place 0 of each
//   1      [5]          [[7]]    positions, to place 1
//   2      [6]          [[7]]    positions, to place 2
//
// A place is taken again after as many changes as there are places. Whoever enqueues steps waits before that for the
// step that used it last.
#ifndef EVT_MODELS_SERVE_STEPTABLES_H
#define EVT_MODELS_SERVE_STEPTABLES_H

#include <evt/memory.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace evt::models {

/// One table of a batch; the values are the caller's.
struct StepTable {
  std::string name;
  const void *values;
  std::vector<int64_t> shape;
  DLDataType type;

  size_t bytes() const;
};

class StepTables {
public:
  /// `uploads` is the stream that copies, `launches` the one whose work is waited for before a table's places move.
  StepTables(const Program &program, Stream &uploads, Stream &launches, size_t places)
      : program_(program), uploads_(uploads), launches_(launches), places_(places) {}

  /// The table on the device, copied there if it has changed; valid until its next `put`. A table that is `rewritten`
  /// will be changed on the device, so that its values there are not these any more.
  const DLTensor &put(const StepTable &table, bool isRewritten = false);

  /// How often a table was copied.
  int64_t copies() const { return copies_; }
  size_t deviceBytes() const;

private:
  struct Ring {
    size_t room = 0; // bytes of a place
    DeviceMemory device;
    HostMemory host;
    size_t place = 0;
    bool isKnown = false; // `current` is what is there
    std::vector<std::byte> current;
    std::vector<int64_t> shape;
    DLTensor tensor{};
  };
  void grow(Ring &ring, size_t bytes);

  const Program &program_;
  Stream &uploads_, &launches_;
  const size_t places_;
  std::map<std::string, Ring> rings_;
  int64_t copies_ = 0;
};

} // namespace evt::models

#endif
