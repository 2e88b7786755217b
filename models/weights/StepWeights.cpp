#include "models/weights/StepWeights.h"

#include "models/config/Problems.h"
#include "models/weights/Chunks.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace evt::models {
namespace {

constexpr uint64_t parallelElements = 1 << 20; // of a piece that a thread converts

uint64_t product(std::span<const int64_t> shape) {
  uint64_t count = 1;
  for (int64_t extent : shape)
    count *= static_cast<uint64_t>(extent);
  return count;
}

StepPart once(const char *tensor, std::vector<int64_t> shape) { return {tensor, std::move(shape), 0}; }

StepPart inLayer(const std::string &tensor, std::vector<int64_t> shape, int64_t row = 0) {
  return {"model.layers.{}." + tensor + ".weight", std::move(shape), row};
}

// Elements of the argument before row `row` of a layer's matrix.
uint64_t elementsBefore(const StepArgument &argument, int64_t row) {
  return static_cast<uint64_t>(row) * static_cast<uint64_t>(argument.shape.back());
}

const Checkpoint::Tensor &tensorOf(const Checkpoint &checkpoint, const StepPart &part, int64_t layer) {
  std::string name = part.tensorOf(layer);
  const Checkpoint::Tensor *tensor = checkpoint.find(name);
  if (!tensor)
    throw Problems(checkpoint.folder(), "tensor " + inQuotes(name) + " is missing, required " + shapeText(part.shape));
  if (tensor->shape != part.shape)
    throw Problems(checkpoint.folder(), "tensor " + inQuotes(name) + " is " + shapeText(tensor->shape) + ", required " +
                                            shapeText(part.shape));
  return *tensor;
}

} // namespace

std::string StepPart::tensorOf(int64_t layer) const {
  std::string name = tensor;
  if (size_t at = name.find("{}"); at != std::string::npos)
    name.replace(at, 2, std::to_string(layer));
  return name;
}

uint64_t StepArgument::elements() const { return product(shape); }

std::vector<StepArgument> stepArguments(const ModelConfig &model) {
  int64_t layers = model.layers, hidden = model.hidden, width = model.feedForward;
  int64_t queries = model.heads * model.headDim, keys = model.kvHeads * model.headDim;
  std::vector<StepArgument> table;
  auto add = [&](const char *name, std::vector<int64_t> shape, std::vector<StepPart> parts, bool layered = true) {
    if (layered)
      shape.insert(shape.begin(), layers);
    table.push_back({name, std::move(shape), layered, std::move(parts)});
  };
  add("embedding", {model.vocabulary, hidden}, {once(embeddingTensor, {model.vocabulary, hidden})}, false);
  add("attn_norm", {hidden}, {inLayer("input_layernorm", {hidden})});
  add("qkv", {queries + 2 * keys, hidden},
      {inLayer("self_attn.q_proj", {queries, hidden}), inLayer("self_attn.k_proj", {keys, hidden}, queries),
       inLayer("self_attn.v_proj", {keys, hidden}, queries + keys)});
  if (model.hasQkNorm) {
    add("q_norm", {model.headDim}, {inLayer("self_attn.q_norm", {model.headDim})});
    add("k_norm", {model.headDim}, {inLayer("self_attn.k_norm", {model.headDim})});
  }
  add("o", {hidden, queries}, {inLayer("self_attn.o_proj", {hidden, queries})});
  add("mlp_norm", {hidden}, {inLayer("post_attention_layernorm", {hidden})});
  add("gate", {width, hidden}, {inLayer("mlp.gate_proj", {width, hidden})});
  add("up", {width, hidden}, {inLayer("mlp.up_proj", {width, hidden})});
  add("down", {hidden, width}, {inLayer("mlp.down_proj", {hidden, width})});
  add("final_norm", {hidden}, {once("model.norm.weight", {hidden})}, false);
  add("head", {model.vocabulary, hidden}, {once(model.tied ? embeddingTensor : headTensor, {model.vocabulary, hidden})},
      false);
  return table;
}

std::vector<ExpectedTensor> expectedTensors(const ModelConfig &model) {
  std::vector<ExpectedTensor> tensors;
  std::set<std::string> seen;
  std::vector<StepArgument> table = stepArguments(model);
  auto addPartsOf = [&](const StepArgument &argument, int64_t layer) {
    for (const StepPart &part : argument.parts)
      if (std::string name = part.tensorOf(layer); seen.insert(name).second)
        tensors.push_back({name, part.shape});
  };
  bool layersAdded = false;
  for (const StepArgument &argument : table) {
    if (!argument.layered)
      addPartsOf(argument, 0);
    for (int64_t layer = 0; argument.layered && !layersAdded && layer < model.layers; ++layer)
      for (const StepArgument &each : table)
        if (each.layered)
          addPartsOf(each, layer);
    layersAdded = layersAdded || argument.layered;
  }
  return tensors;
}

void assembleRange(const Checkpoint &checkpoint, const StepArgument &argument, ElementType type, uint64_t first,
                   std::span<std::byte> out) {
  uint64_t perLayer = argument.layered ? product(std::span(argument.shape).subspan(1)) : argument.elements();
  uint64_t end = first + out.size() / bytesOf(type);
  assert(out.size() % bytesOf(type) == 0 && end <= argument.elements());
  std::byte *next = out.data();
  while (first < end) {
    uint64_t layer = first / perLayer, inside = first % perLayer;
    auto part = std::find_if(argument.parts.begin(), argument.parts.end(), [&](const StepPart &each) {
      return inside < elementsBefore(argument, each.row) + product(each.shape);
    });
    assert(part != argument.parts.end());
    const Checkpoint::Tensor &tensor = tensorOf(checkpoint, *part, static_cast<int64_t>(layer));
    uint64_t skipped = inside - elementsBefore(argument, part->row);
    uint64_t taken = std::min(product(part->shape) - skipped, end - first);
    convert(tensor.type, tensor.data.data() + skipped * bytesOf(tensor.type), type, next, taken);
    next += taken * bytesOf(type);
    first += taken;
  }
}

void assemble(const Checkpoint &checkpoint, const StepArgument &argument, ElementType type, std::span<std::byte> out,
              unsigned threads) {
  assert(out.size() == argument.elements() * bytesOf(type));
  forEachChunk(argument.elements(), parallelElements, threads, [&](uint64_t begin, uint64_t end) {
    assembleRange(checkpoint, argument, type, begin, out.subspan(begin * bytesOf(type), (end - begin) * bytesOf(type)));
  });
}

void assembleInChunks(const Checkpoint &checkpoint, const StepArgument &argument, ElementType type, size_t chunkBytes,
                      const std::function<void(uint64_t offset, std::span<const std::byte> bytes)> &take,
                      unsigned threads) {
  uint64_t size = bytesOf(type), total = argument.elements();
  uint64_t chunk = std::max<uint64_t>(1, chunkBytes / size);
  std::vector<std::byte> buffer(std::min(chunk, total) * size);
  for (uint64_t begin = 0; begin < total; begin += chunk) {
    uint64_t count = std::min(chunk, total - begin);
    forEachChunk(count, parallelElements, threads, [&](uint64_t from, uint64_t to) {
      assembleRange(checkpoint, argument, type, begin + from,
                    std::span(buffer).subspan(from * size, (to - from) * size));
    });
    take(begin * size, std::span(buffer).first(count * size));
  }
}

} // namespace evt::models
