// Is a program well formed at one shape? By brute force over every task, element and pair of tasks.
//
// The judge sees a list of tasks with what each waits for, touches and notifies, and the count of every element. It
// knows nothing of integer sets, of proofs or of emitted code. A program is wrong at this shape if
//
//   an element receives another number of notifications than its count, or a notify lies outside its event;
//   a task waits for a task that does not come before it in program order (so also: for itself, in a circle);
//   two tasks touch one element, one of them writing, and no chain of notifies and waits leads from one to the other.
#pragma once

#include "Model.h"

#include <map>

namespace evt::fuzz {

using Element = std::pair<int, std::vector<int64_t>>; // of an event

struct Box {
  int memory = -1;
  std::vector<int64_t> lower, upper; // half open, inside the memory
  bool write = false;
  size_t afterWaits = SIZE_MAX; // it is ordered by the first so many of the task's waits; all, by default
};

struct Task {
  std::string name;                        // for messages: call(2, 0)
  std::vector<std::vector<Element>> waits; // each wait's elements, inside the event
  std::vector<Box> boxes;
  std::vector<Element> notifies; // also those outside the event
};

/// All tasks in program order, and the count of every element.
struct Enumeration {
  std::vector<Task> tasks;
  std::map<Element, int64_t> counts;
};

Enumeration enumerate(const Model &model, const Values &symbols);

/// Why the program is wrong; empty if it is right.
std::string findDefect(const Enumeration &program);

} // namespace evt::fuzz
