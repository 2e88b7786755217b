// Finds uses of freed memory in code that was built without a sanitizer, as MLIR's libraries are.
//
// Freed blocks are filled with a pattern and kept for a while. A read through one sees no valid pointer, and a write
// into one spoils the pattern, which is looked at before the block goes back to the allocator:
//
//   Quarantine::start();
//   parse(text);
//   Quarantine::check();   // aborts if anything freed since the last check was written to
#pragma once

namespace evt::fuzz {

struct Quarantine {
  /// From now on what this process frees is kept.
  static void start();
  /// Looks at every block kept and gives it back; aborts with a message at one that was written to.
  static void check();
};

} // namespace evt::fuzz
