#include "Subject.h"

#include "ProgramText.h"

namespace evt::fuzz {

std::string AffineSubject::text(const std::string &graph) const { return programText(model, graph); }

Values AffineSubject::randomValues(Random &random, int largest) const {
  Values values;
  for (size_t s = 0; s < model.symbols.size(); ++s)
    values.push_back(chance(random, 10) ? 0 : pick(random, 0, largest));
  return values;
}

std::vector<Argument> AffineSubject::arguments(const Values &values, Random &random) const {
  std::vector<Argument> arguments;
  for (const Memory &m : model.memories) {
    if (m.role == Memory::Buffer)
      continue;
    Argument &a = arguments.emplace_back();
    for (const Size &d : m.dims)
      a.dims.push_back(d.at(values));
    a.data.resize(static_cast<size_t>(elementCount(m, values)));
    for (int32_t &x : a.data)
      x = static_cast<int32_t>(random());
  }
  for (size_t s = 0; s < model.symbols.size(); ++s)
    if (!model.isDimension(static_cast<int>(s)))
      arguments.push_back({true, values[s], {}, {}});
  return arguments;
}

std::vector<Argument> AffineSubject::expected(const Values &values, const std::vector<Argument> &arguments) const {
  std::vector<Tensor> tensors;
  size_t next = 0;
  for (const Memory &m : model.memories)
    tensors.push_back(m.role == Memory::Buffer ? Tensor(static_cast<size_t>(elementCount(m, values)))
                                               : arguments[next++].data);
  evaluate(model, values, tensors);
  std::vector<Argument> result = arguments;
  next = 0;
  for (size_t m = 0; m < model.memories.size(); ++m)
    if (model.memories[m].role != Memory::Buffer)
      result[next++].data = tensors[m];
  return result;
}

Enumeration AffineSubject::enumerate(const Values &values, const std::vector<Argument> &) const {
  return fuzz::enumerate(model, values);
}

} // namespace evt::fuzz
