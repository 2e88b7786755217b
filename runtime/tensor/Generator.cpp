#include "runtime/tensor/Generator.h"

#include "runtime/Error.h"

#include <array>
#include <charconv>
#include <cmath>

namespace evt::runtime {
namespace {

using Kind = GeneratorSpec::Kind;

struct Form {
  std::string_view name;
  Kind kind;
  bool takesSeed, takesRange, takesMax, takesValue;
};
constexpr std::array<Form, 6> forms = {{{"random", Kind::random, true, true, false, false},
                                        {"zeros", Kind::zeros, false, false, false, false},
                                        {"full", Kind::full, false, false, false, true},
                                        {"iota", Kind::iota, false, false, false, false},
                                        {"perm", Kind::perm, true, false, false, false},
                                        {"lengths", Kind::lengths, true, false, true, false}}};

// SplitMix64 (Steele, Lea, Flood 2014): one addition and a mix for each number.
class SplitMix {
public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; } // [0, 1)
  int64_t below(int64_t bound) {                                        // [0, bound)
    return static_cast<int64_t>((static_cast<unsigned __int128>(next()) * static_cast<uint64_t>(bound)) >> 64);
  }

private:
  uint64_t state_;
};

class Parser {
public:
  explicit Parser(std::string_view text) : text_(text) {}

  GeneratorSpec parse(const Form &form, std::string_view inside) {
    GeneratorSpec spec;
    spec.kind = form.kind;
    std::vector<std::string_view> parts = split(inside, ',');
    spec.shape = shape(parts[0]);
    bool sawMax = false, sawValue = false;
    for (size_t i = 1; i < parts.size(); ++i) {
      std::string_view part = parts[i];
      size_t equals = part.find('=');
      if (equals == std::string_view::npos) {
        if (!form.takesValue || sawValue)
          fail("'" + std::string(part) + "' is not of the form name=value");
        spec.value = number(part);
        sawValue = true;
        continue;
      }
      std::string_view key = part.substr(0, equals), value = part.substr(equals + 1);
      if (key == "seed" && form.takesSeed) {
        spec.seed = static_cast<uint64_t>(integer(value, 0));
      } else if (key == "lo" && form.takesRange) {
        spec.lo = number(value);
      } else if (key == "hi" && form.takesRange) {
        spec.hi = number(value);
      } else if (key == "max" && form.takesMax) {
        spec.max = integer(value, 0);
        sawMax = true;
      } else {
        fail("'" + std::string(form.name) + "' has no option '" + std::string(key) + "'");
      }
    }
    if (form.takesMax && !sawMax)
      fail("'" + std::string(form.name) + "' needs max=");
    if (form.takesValue && !sawValue)
      fail("'" + std::string(form.name) + "' needs a value after the shape");
    if (form.kind == Kind::perm && spec.shape.size() != 1)
      fail("a permutation has rank " + std::to_string(spec.shape.size()) + ", required 1");
    return spec;
  }

  [[noreturn]] void fail(const std::string &what) const {
    throw Error(EVT_ERROR_ARGUMENT, "cannot understand '" + std::string(text_) + "': " + what);
  }

private:
  static std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (size_t start = 0;;) {
      size_t end = text.find(separator, start);
      parts.push_back(text.substr(start, end == std::string_view::npos ? end : end - start));
      if (end == std::string_view::npos)
        return parts;
      start = end + 1;
    }
  }
  std::vector<int64_t> shape(std::string_view text) const {
    std::vector<int64_t> extents;
    if (!text.empty())
      for (std::string_view part : split(text, 'x'))
        extents.push_back(integer(part, 0));
    return extents;
  }
  int64_t integer(std::string_view text, int64_t least) const {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least)
      fail("found '" + std::string(text) + "', required an integer of at least " + std::to_string(least));
    return value;
  }
  double number(std::string_view text) const {
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      fail("found '" + std::string(text) + "', required a number");
    return value;
  }

  std::string_view text_;
};

void fillRandom(HostTensor &tensor, const GeneratorSpec &spec, SplitMix &random) {
  DataType type = tensor.type();
  bool floats = isFloat(type);
  double lo = spec.lo.value_or(floats ? -1.0 : 0.0);
  double hi = spec.hi.value_or(floats ? 1.0 : type == DataType::i1 ? 2.0 : 10.0);
  if (!(lo < hi) || !std::isfinite(lo) || !std::isfinite(hi))
    throw Error(EVT_ERROR_ARGUMENT,
                "random range is [" + std::to_string(lo) + ", " + std::to_string(hi) + "), required a finite lo < hi");
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (floats)
      tensor.set(i, lo + (hi - lo) * random.unit());
    else
      tensor.setInteger(i, static_cast<int64_t>(std::floor(lo + (hi - lo) * random.unit())));
  }
}

} // namespace

ValueSpec parseValue(std::string_view text) {
  Parser parser(text);
  if (text.ends_with(".npy"))
    return NpyFile{std::string(text)};
  size_t open = text.find('(');
  if (open != std::string_view::npos && text.ends_with(')')) {
    for (const Form &form : forms)
      if (text.substr(0, open) == form.name)
        return parser.parse(form, text.substr(open + 1, text.size() - open - 2));
    parser.fail("'" + std::string(text.substr(0, open)) + "' is not one of random, zeros, full, iota, perm, lengths");
  }
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && !text.empty())
    return value;
  parser.fail("required a generator such as random(8x16), a .npy file or an integer");
}

HostTensor generate(const GeneratorSpec &spec, DataType type, uint64_t seed) {
  HostTensor tensor(type, spec.shape);
  SplitMix random(spec.seed.value_or(seed));
  switch (spec.kind) {
  case Kind::random:
    fillRandom(tensor, spec, random);
    break;
  case Kind::zeros:
    break;
  case Kind::full:
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.set(i, spec.value);
    break;
  case Kind::iota:
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.setInteger(i, i);
    break;
  case Kind::perm:
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      int64_t other = random.below(i + 1);
      tensor.setInteger(i, tensor.getInteger(other));
      tensor.setInteger(other, i);
    }
    break;
  case Kind::lengths:
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      bool empty = random.below(4) == 0;
      int64_t length = spec.max == 0 ? 0 : 1 + random.below(spec.max);
      tensor.setInteger(i, empty ? 0 : length);
    }
    break;
  }
  return tensor;
}

} // namespace evt::runtime
