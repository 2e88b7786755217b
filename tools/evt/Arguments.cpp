#include "tools/evt/Arguments.h"

#include "runtime/tensor/Generator.h"
#include "runtime/tensor/Npy.h"
#include "tools/evt/Command.h"
#include "tools/evt/Failure.h"
#include "tools/evt/Words.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace evt::tool {

using runtime::Access;
using runtime::Argument;
using runtime::HostTensor;

namespace {

[[noreturn]] void refuse(const std::string &message) { throw Failure(ExitCode::wrongInput, message); }

void poison(HostTensor &tensor) {
  if (runtime::isFloat(tensor.type()))
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.set(i, std::numeric_limits<double>::quiet_NaN());
  else
    std::memset(tensor.data(), 0xA5, tensor.bytes());
}

HostTensor copyOf(const HostTensor &tensor) {
  HostTensor copy(tensor.type(), tensor.shape());
  std::memcpy(copy.data(), tensor.data(), tensor.bytes());
  return copy;
}

std::string dimsText(const Argument &argument) {
  std::vector<std::string> dims;
  dims.reserve(argument.dims.size());
  for (const runtime::Expression &dim : argument.dims)
    dims.push_back(dim.asConstant() || dim.asSymbol() ? dim.text() : "(" + dim.text() + ")");
  return dims.empty() ? "scalar" : joined(dims, " x ");
}

template <class Entry> size_t find(const std::vector<Entry> &entries, const std::string &name) {
  size_t i = 0;
  while (i < entries.size() && entries[i].name != name)
    ++i;
  return i;
}

template <class Entry> std::string names(const std::vector<Entry> &entries) {
  std::vector<std::string> all;
  all.reserve(entries.size());
  for (const Entry &entry : entries)
    all.push_back(entry.name);
  return all.empty() ? "none" : joined(all);
}

// Whether an expression's text holds the name as a word.
bool mentions(const std::string &text, const std::string &name) {
  auto isWord = [](char c) { return c != ' ' && c != '(' && c != ')' && c != ','; };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !isWord(text[at - 1])) && (end == text.size() || !isWord(text[end])))
      return true;
  }
  return false;
}

bool isShapeless(const std::string &text) { return text == "random" || text == "zeros" || text == "iota"; }

std::string shapeText(const std::vector<int64_t> &shape) {
  std::vector<std::string> extents;
  extents.reserve(shape.size());
  for (int64_t extent : shape)
    extents.push_back(std::to_string(extent));
  return joined(extents, "x");
}

} // namespace

std::string describeNeed(const runtime::Manifest &manifest, const Argument &argument) {
  if (argument.kind == Argument::Kind::index) {
    const runtime::Symbol &symbol = manifest.symbols[argument.symbol];
    return "index in " + std::to_string(symbol.min) + ".." + std::to_string(symbol.max);
  }
  std::string type(runtime::name(argument.type));
  return argument.dims.empty() ? type + " scalar" : type + " tensor of " + dimsText(argument);
}

void addArgumentOptions(CLI::App *command, ArgumentOptions &options) {
  addRepeatable(
      command, "--in", options.in,
      "an argument: x=file.npy, x='random(37x4096)', x=random (shape from the symbols) or steps=12; generators "
      "are random, zeros, full, iota, perm and lengths; may be repeated")
      ->type_name("NAME=VALUE");
  addRepeatable(command, "--size", options.size,
                "the value of a symbol that no given argument determines; may be repeated")
      ->type_name("SYMBOL=VALUE");
  command->add_option("--seed", options.seed, "of the random generators; each argument gets a stream of its own")
      ->transform(anySeed())
      ->type_name("SEED")
      ->capture_default_str();
}

Arguments::Arguments(const runtime::Manifest &manifest, const ArgumentOptions &options, Missing missing)
    : manifest_(manifest), entries_(manifest.arguments.size()), symbols_(manifest.symbols.size()) {
  for (const std::string &size : options.size)
    takeSize(size);
  std::vector<std::pair<size_t, std::string>> shapeless;
  for (const std::string &in : options.in) {
    auto [number, text] = claim(in);
    if (isShapeless(text) && manifest.arguments[number].kind == Argument::Kind::tensor)
      shapeless.emplace_back(number, text);
    else
      give(number, text, options.seed);
  }
  // An index argument is its symbol: a size given for one is the other's value.
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Argument &argument = manifest.arguments[i];
    if (argument.kind == Argument::Kind::index && !entries_[i].given && symbols_[argument.symbol]) {
      entries_[i].index = *symbols_[argument.symbol];
      entries_[i].given = true;
    }
  }
  if (missing == Missing::random)
    for (size_t i = 0; i < entries_.size(); ++i) {
      const Argument &argument = manifest.arguments[i];
      if (!entries_[i].given && argument.kind == Argument::Kind::tensor && argument.access != Access::write &&
          runtime::isFloat(argument.type)) {
        shapeless.emplace_back(i, "random");
        entries_[i].given = true;
      }
    }
  if (missing != Missing::zeros)
    requireInputs();
  for (auto &[number, text] : shapeless)
    give(number, text + "(" + shapeText(shapeOf(number)) + ")", options.seed);
  fillMissing(missing);
  for (Entry &entry : entries_)
    if (entry.tensor)
      entry.view = entry.tensor->dlpack();
}

void Arguments::takeSize(const std::string &option) {
  auto [name, text] = nameAndValue("--size", option);
  size_t symbol = find(manifest_.symbols, name);
  if (symbol == manifest_.symbols.size())
    refuse("--size names '" + name + "', which is no symbol of graph '" + manifest_.graph +
           "'; its symbols: " + names(manifest_.symbols));
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const runtime::Symbol &range = manifest_.symbols[symbol];
  if (error != std::errc() || end != text.data() + text.size() || value < range.min || value > range.max)
    refuse("--size " + name + " is '" + text + "', required an integer in " + std::to_string(range.min) + ".." +
           std::to_string(range.max));
  symbols_[symbol] = value;
}

std::pair<size_t, std::string> Arguments::claim(const std::string &option) {
  auto [name, text] = nameAndValue("--in", option);
  size_t number = find(manifest_.arguments, name);
  if (number == manifest_.arguments.size())
    refuse("--in names '" + name + "', which is no argument of graph '" + manifest_.graph +
           "'; its arguments: " + names(manifest_.arguments));
  if (std::exchange(entries_[number].given, true))
    refuse("--in gives '" + name + "' twice, required at most once");
  return {number, text};
}

void Arguments::requireInputs() const {
  std::string needs;
  size_t count = 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Argument &argument = manifest_.arguments[i];
    bool input = argument.kind == Argument::Kind::index || argument.access != Access::write;
    if (!input || entries_[i].given)
      continue;
    needs.append("\n  ").append(argument.name).append(": ").append(describeNeed(manifest_, argument));
    ++count;
  }
  if (count)
    refuse("graph '" + manifest_.graph + "' needs " + counted(count, "more argument") +
           ", to be given with --in NAME=VALUE:" + needs);
}

void Arguments::give(size_t number, const std::string &text, uint64_t seed) {
  const Argument &argument = manifest_.arguments[number];
  Entry &entry = entries_[number];
  runtime::ValueSpec spec = runtime::parseValue(text);
  const auto *index = std::get_if<int64_t>(&spec);
  if (argument.kind == Argument::Kind::index) {
    if (!index)
      refuse("argument '" + argument.name + "' is '" + text + "', required an " + describeNeed(manifest_, argument));
    entry.index = *index;
    symbols_[argument.symbol] = *index;
    return;
  }
  if (index)
    refuse("argument '" + argument.name + "' is the integer " + text + ", required a " +
           describeNeed(manifest_, argument));
  if (const auto *file = std::get_if<runtime::NpyFile>(&spec))
    entry.tensor = runtime::readNpy(file->path);
  else
    entry.tensor = runtime::generate(std::get<runtime::GeneratorSpec>(spec), argument.type, seed + number);
  if (entry.tensor->shape().size() != argument.dims.size())
    refuse("argument '" + argument.name + "' has rank " + std::to_string(entry.tensor->shape().size()) + " (" +
           runtime::describeShape(entry.tensor->shape()) + "), required " + std::to_string(argument.dims.size()) +
           " (" + dimsText(argument) + ")");
  learnSymbols(number);
  if (argument.access != Access::read)
    entry.before = copyOf(*entry.tensor);
}

// Disagreements are found by the launch, which names both sides; here the first value counts.
void Arguments::learnSymbols(size_t number) {
  const Argument &argument = manifest_.arguments[number];
  for (size_t d = 0; d < argument.dims.size(); ++d)
    if (std::optional<uint32_t> symbol = argument.dims[d].asSymbol(); symbol && !symbols_[*symbol])
      symbols_[*symbol] = entries_[number].tensor->shape()[d];
}

std::vector<int64_t> Arguments::shapeOf(size_t number) const {
  const Argument &argument = manifest_.arguments[number];
  std::vector<int64_t> values, shape;
  for (const std::optional<int64_t> &symbol : symbols_)
    values.push_back(symbol.value_or(0));
  for (const runtime::Expression &dim : argument.dims) {
    for (size_t s = 0; s < symbols_.size(); ++s)
      if (!symbols_[s] && mentions(dim.text(), manifest_.symbols[s].name))
        refuse("the shape of '" + argument.name + "' (" + dimsText(argument) + ") needs symbol '" +
               manifest_.symbols[s].name + "': give it with --size " + manifest_.symbols[s].name + "=VALUE");
    shape.push_back(dim.evaluate(values));
  }
  return shape;
}

void Arguments::fillMissing(Missing missing) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Argument &argument = manifest_.arguments[i];
    if (entries_[i].given)
      continue;
    if (argument.kind == Argument::Kind::index) {
      const runtime::Symbol &symbol = manifest_.symbols[argument.symbol];
      refuse("symbol '" + symbol.name + "' has no value: give it with --size " + symbol.name + "=VALUE, in " +
             std::to_string(symbol.min) + ".." + std::to_string(symbol.max));
    }
    entries_[i].tensor.emplace(argument.type, shapeOf(i));
    if (missing != Missing::zeros)
      poison(*entries_[i].tensor);
  }
}

std::vector<evt_value> Arguments::values() {
  std::vector<evt_value> values;
  for (Entry &entry : entries_)
    values.push_back({entry.tensor ? &entry.view : nullptr, entry.index});
  return values;
}

void Arguments::restore() {
  for (size_t i : written()) {
    Entry &entry = entries_[i];
    if (entry.before)
      std::memcpy(entry.tensor->data(), entry.before->data(), entry.tensor->bytes());
    else
      poison(*entry.tensor);
  }
}

HostTensor &Arguments::tensor(const std::string &option, const std::string &name) {
  std::vector<std::string> tensors;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].tensor)
      continue;
    if (manifest_.arguments[i].name == name)
      return *entries_[i].tensor;
    tensors.push_back(manifest_.arguments[i].name);
  }
  refuse(option + " names '" + name + "', which is no tensor of graph '" + manifest_.graph +
         "'; its tensors: " + (tensors.empty() ? "none" : joined(tensors)));
}

std::vector<size_t> Arguments::written() const {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].tensor && manifest_.arguments[i].access != Access::read)
      numbers.push_back(i);
  return numbers;
}

} // namespace evt::tool
