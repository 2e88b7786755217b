#include "runtime/launch/Binding.h"

#include "runtime/Error.h"

#include <algorithm>
#include <optional>

namespace evt::runtime {
namespace {

std::string quoted(const Argument &argument) { return "argument '" + argument.name + "'"; }

std::string describeDevice(DLDevice device) {
  switch (device.device_type) {
  case kDLCPU:
    return "cpu";
  case kDLCUDA:
    return "cuda:" + std::to_string(device.device_id);
  case kDLCUDAHost:
    return "cuda host memory";
  case kDLCUDAManaged:
    return "cuda managed memory";
  default:
    return "DLPack device " + std::to_string(static_cast<int>(device.device_type));
  }
}

char *addressOf(const DLTensor &tensor) { return static_cast<char *>(tensor.data) + tensor.byte_offset; }

bool isEmpty(const DLTensor &tensor) {
  return std::find(tensor.shape, tensor.shape + tensor.ndim, 0) != tensor.shape + tensor.ndim;
}

// Host memory that the device can read is host memory still, and managed memory is the device's.
bool isHost(DLDevice device) { return device.device_type == kDLCPU || device.device_type == kDLCUDAHost; }

bool isOn(DLDevice found, DLDevice required) {
  if (required.device_type == kDLCPU)
    return found.device_type == kDLCPU;
  bool sameKind = found.device_type == required.device_type ||
                  (required.device_type == kDLCUDA && found.device_type == kDLCUDAManaged);
  return sameKind && found.device_id == required.device_id;
}

// What can be said of a tensor without the symbols' values.
void checkTensor(const Argument &argument, const DLTensor *tensor, const Placement &placement) {
  if (!tensor)
    refuseArgument(quoted(argument) + " is null, required a tensor");
  if (!isOn(tensor->device, placement.device) && !(placement.copiesHost && isHost(tensor->device)))
    refuseArgument(quoted(argument) + " is on " + describeDevice(tensor->device) + ", required " +
                   (placement.copiesHost ? "cpu or " : "") + describeDevice(placement.device));
  if (!accepts(argument.type, tensor->dtype))
    refuseArgument(quoted(argument) + " has type " + describe(tensor->dtype) + ", required " +
                   std::string(name(argument.type)));
  if (tensor->ndim < 0 || static_cast<size_t>(tensor->ndim) != argument.dims.size())
    refuseArgument(quoted(argument) + " has rank " + std::to_string(tensor->ndim) + ", required " +
                   std::to_string(argument.dims.size()));
  if (tensor->ndim > 0 && !tensor->shape)
    refuseArgument(quoted(argument) + " has no shape, required " + std::to_string(tensor->ndim) + " extents");
  for (int d = 0; d < tensor->ndim; ++d)
    if (tensor->shape[d] < 0)
      refuseArgument(quoted(argument) + " has dimension " + std::to_string(d) + " of " +
                     std::to_string(tensor->shape[d]) + ", required at least 0");
}

// Dense and row-major. The stride of an extent of 1 is never used, and an empty tensor has no elements to stride over.
void checkStrides(const Argument &argument, const DLTensor &tensor) {
  if (!tensor.strides || isEmpty(tensor))
    return;
  int64_t expected = 1;
  for (int d = tensor.ndim - 1; d >= 0; --d) {
    if (tensor.shape[d] != 1 && tensor.strides[d] != expected)
      refuseArgument(quoted(argument) + " has stride " + std::to_string(tensor.strides[d]) + " in dimension " +
                     std::to_string(d) + ", required " + std::to_string(expected) +
                     ": tensors are dense and row-major");
    expected *= tensor.shape[d]; // cannot overflow: the extents were checked against the manifest's
  }
}

void checkAddress(const Argument &argument, const DLTensor &tensor, bool inPlace) {
  if (isEmpty(tensor))
    return;
  if (!tensor.data)
    refuseArgument(quoted(argument) + " has no data, required " + std::string(name(argument.type)) + " elements");
  if (!inPlace)
    return;
  uintptr_t address = reinterpret_cast<uintptr_t>(addressOf(tensor));
  uintptr_t rest = address % static_cast<uintptr_t>(argument.align);
  if (rest != 0)
    refuseArgument(quoted(argument) + " starts " + std::to_string(rest) + " bytes after a multiple of " +
                   std::to_string(argument.align) + ", required an alignment of " + std::to_string(argument.align) +
                   " bytes");
}

std::string describeSource(const Manifest &manifest, const SymbolSource &source) {
  const Argument &argument = manifest.arguments[source.argument];
  return source.dim ? "dimension " + std::to_string(*source.dim) + " of argument '" + argument.name + "'"
                    : "argument '" + argument.name + "'";
}

int64_t valueOf(const SymbolSource &source, std::span<const evt_value> values) {
  const evt_value &value = values[source.argument];
  return source.dim ? value.tensor->shape[*source.dim] : value.index;
}

int64_t symbolValue(const Manifest &manifest, const Symbol &symbol, std::span<const evt_value> values) {
  const SymbolSource &first = symbol.from.front();
  int64_t found = valueOf(first, values);
  for (const SymbolSource &source : symbol.from)
    if (valueOf(source, values) != found)
      refuseArgument(describeSource(manifest, source) + " is " + std::to_string(valueOf(source, values)) +
                     ", required " + std::to_string(found) + ": symbol '" + symbol.name + "' is also " +
                     describeSource(manifest, first));
  if (found < symbol.min || found > symbol.max)
    refuseArgument(describeSource(manifest, first) + " is " + std::to_string(found) + ", required " +
                   std::to_string(symbol.min) + ".." + std::to_string(symbol.max) + " for symbol '" + symbol.name +
                   "'");
  return found;
}

void checkExtents(const Argument &argument, const DLTensor &tensor, const std::vector<int64_t> &required) {
  for (int d = 0; d < tensor.ndim; ++d) {
    size_t dim = static_cast<size_t>(d);
    if (tensor.shape[d] == required[dim])
      continue;
    const Expression &expression = argument.dims[dim];
    std::string text = expression.asConstant() ? "" : expression.text() + " = ";
    refuseArgument("dimension " + std::to_string(d) + " of " + quoted(argument) + " is " +
                   std::to_string(tensor.shape[d]) + ", required " + text + std::to_string(required[dim]));
  }
}

// No written tensor shares a byte with another argument.
void checkOverlap(const Manifest &manifest, const Binding &binding) {
  struct Span {
    const Argument *argument;
    uintptr_t begin, end;
  };
  std::vector<Span> spans;
  for (size_t m = 0; m < binding.tensors.size(); ++m) {
    if (binding.shapes.memoryBytes[m] == 0)
      continue;
    uintptr_t begin = reinterpret_cast<uintptr_t>(binding.tensors[m]);
    spans.push_back({&manifest.arguments[*manifest.memories[m].argument], begin,
                     begin + static_cast<uintptr_t>(binding.shapes.memoryBytes[m])});
  }
  for (size_t i = 0; i < spans.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (spans[i].begin < spans[j].end && spans[j].begin < spans[i].end &&
          (spans[i].argument->access != Access::read || spans[j].argument->access != Access::read))
        refuseArgument(quoted(*spans[i].argument) + " overlaps " + quoted(*spans[j].argument) +
                       " in memory, required apart: at least one of them is written");
}

} // namespace

Binding bindArguments(const Manifest &manifest, std::span<const evt_value> values, Placement placement) {
  if (values.size() != manifest.arguments.size())
    refuseArgument("graph '" + manifest.graph + "' was given " + std::to_string(values.size()) +
                   " arguments, required " + std::to_string(manifest.arguments.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    const Argument &argument = manifest.arguments[i];
    if (argument.kind == Argument::Kind::tensor)
      checkTensor(argument, values[i].tensor, placement);
    else if (values[i].tensor)
      refuseArgument(quoted(argument) + " is a tensor, required an index");
  }
  Binding binding;
  for (const Symbol &symbol : manifest.symbols)
    binding.symbols.push_back(symbolValue(manifest, symbol, values));
  binding.shapes = resolveShapes(manifest, binding.symbols);
  for (size_t m = 0; m < manifest.memories.size() && manifest.memories[m].argument; ++m) {
    uint32_t number = *manifest.memories[m].argument;
    const Argument &argument = manifest.arguments[number];
    const DLTensor &tensor = *values[number].tensor;
    checkExtents(argument, tensor, binding.shapes.memories[m].dims);
    checkStrides(argument, tensor);
    bool inPlace = isOn(tensor.device, placement.device);
    checkAddress(argument, tensor, inPlace);
    binding.inPlace.push_back(inPlace);
    binding.tensors.push_back(tensor.data ? addressOf(tensor) : nullptr);
  }
  checkOverlap(manifest, binding);
  return binding;
}

} // namespace evt::runtime
