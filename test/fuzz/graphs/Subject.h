// A program under test together with everything that is known about it without the compiler: its text, its arguments at
// a shape, what it must compute, and its tasks one by one.
#pragma once

#include "Generator.h"
#include "Judge.h"
#include "Reference.h"

#include <memory>

namespace evt::fuzz {

/// An argument of a launch: a tensor of 32-bit integers, or an index (`dims` empty and `isIndex`).
struct Argument {
  bool isIndex = false;
  int64_t index = 0;
  std::vector<int64_t> dims;
  Tensor data;
};

class Subject {
public:
  virtual ~Subject() = default;
  virtual std::string text(const std::string &graph) const = 0;
  virtual std::vector<std::string> symbols() const = 0;
  /// Values for which enumeration stays small; `largest` bounds each.
  virtual Values randomValues(Random &random, int largest) const = 0;
  /// The graph's arguments, in order, filled with random numbers. What it writes is filled too: with what it must not
  /// leave there.
  virtual std::vector<Argument> arguments(const Values &values, Random &random) const = 0;
  /// The arguments as they must be after a launch.
  virtual std::vector<Argument> expected(const Values &values, const std::vector<Argument> &arguments) const = 0;
  virtual Enumeration enumerate(const Values &values, const std::vector<Argument> &arguments) const = 0;
  /// Whether everything about it is affine, so that nothing may be left unproved.
  virtual bool isAffine() const = 0;
};

class AffineSubject : public Subject {
public:
  explicit AffineSubject(Model model) : model(std::move(model)) {}

  std::string text(const std::string &graph) const override;
  std::vector<std::string> symbols() const override { return model.symbols; }
  Values randomValues(Random &random, int largest) const override;
  std::vector<Argument> arguments(const Values &values, Random &random) const override;
  std::vector<Argument> expected(const Values &values, const std::vector<Argument> &arguments) const override;
  Enumeration enumerate(const Values &values, const std::vector<Argument> &arguments) const override;
  bool isAffine() const override { return true; }

private:
  Model model;
};

} // namespace evt::fuzz
