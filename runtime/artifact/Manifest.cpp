#include "runtime/artifact/Manifest.h"

#include "runtime/Error.h"
#include "runtime/artifact/Fingerprint.h"
#include "runtime/artifact/JsonView.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

namespace evt::runtime {
namespace {

constexpr int64_t largest = std::numeric_limits<int64_t>::max();

// JSON is read and written recursively; this is far deeper than a manifest and far shallower than a stack.
constexpr size_t deepestJson = 1000;

void checkDepth(const std::string &text, const std::string &file) {
  size_t depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      i += c == '\\';
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepestJson)
        throw Error(EVT_ERROR_ARTIFACT, file + ": is nested more than " + std::to_string(deepestJson) + " deep");
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
}

void checkVersions(const JsonView &root, const std::string &file) {
  int64_t format = root.at("format").integer();
  if (format != manifestFormat)
    throw Error(EVT_ERROR_INCOMPATIBLE, file + ": format is " + std::to_string(format) +
                                            ", this runtime reads format " + std::to_string(manifestFormat));
  int64_t abi = root.at("abi").integer();
  if (abi != EVT_ABI_VERSION)
    throw Error(EVT_ERROR_INCOMPATIBLE, file + ": abi is " + std::to_string(abi) + ", this runtime runs abi " +
                                            std::to_string(EVT_ABI_VERSION));
}

void checkChecksum(const JsonView &root, const std::string &text) {
  JsonView checksum = root.at("checksum");
  std::optional<uint64_t> stated = fromHex(checksum.string());
  std::optional<size_t> place = findChecksum(text);
  if (!stated || !place)
    checksum.fail("found '" + checksum.string() + "', required 16 hexadecimal digits");
  uint64_t found = fingerprintWithoutChecksum(text, *place);
  if (found != *stated)
    root.fail("was altered: its fnv1a64 is " + toHex(found) + ", its checksum says " + toHex(*stated));
}

// A file's name is joined to the artifact's directory, so it must stay inside it.
std::string fileName(const JsonView &json, const std::string &name) {
  if (name.find('/') != std::string::npos || name == "." || name == "..")
    json.fail("'" + name + "' is not the name of a file in the artifact's directory");
  return name;
}

// Builds the manifest part by part, in the order in which parts refer to earlier ones.
class Reader {
public:
  Reader(const JsonView &root) : root_(root) {}

  Manifest read() {
    m_.tool = root_.at("tool").string();
    m_.target = root_.at("target").string();
    m_.graph = root_.at("graph").string();
    if (std::optional<JsonView> cpu = root_.find("cpu")) {
      m_.architecture = cpu->at("arch").string();
      for (const JsonView &feature : cpu->at("features").items())
        m_.features.push_back(feature.string());
    }
    readFiles();
    if (m_.target == "cuda")
      readCuda();
    readSymbolNames();
    readArguments();
    readSymbolSources();
    readMemories();
    if (m_.cuda)
      readTensorMaps();
    readEvents();
    readCalls();
    readCosts();
    readRegions();
    readSchedules();
    if (std::optional<JsonView> bound = root_.find("queue_bound"))
      m_.queueBound = expression(*bound);
    if (std::optional<JsonView> obligations = root_.find("obligations"))
      for (const JsonView &obligation : obligations->items())
        m_.obligations.push_back(obligation.isString() ? obligation.string() : obligation.dump());
    return std::move(m_);
  }

private:
  Expression expression(const JsonView &json) const { return Expression::parse(json, symbolNames_); }

  std::vector<Expression> expressions(const JsonView &json) const {
    std::vector<Expression> list;
    for (const JsonView &item : json.items())
      list.push_back(expression(item));
    return list;
  }

  DataType type(const JsonView &json) const {
    std::optional<DataType> found = dataTypeNamed(json.string());
    if (!found)
      json.fail("found '" + json.string() + "', required one of f32 bf16 f16 i32 i64 i1");
    return *found;
  }

  uint32_t index(const JsonView &json, size_t count, const char *what) const {
    int64_t found = json.integer();
    if (found < 0 || found >= static_cast<int64_t>(count))
      json.fail("found " + std::to_string(found) + ", required the index of one of " + std::to_string(count) + " " +
                what);
    return static_cast<uint32_t>(found);
  }

  // The position of the argument a reference names.
  uint32_t argumentNamed(const JsonView &json) const {
    std::string name = json.string();
    for (size_t i = 0; i < m_.arguments.size(); ++i)
      if (m_.arguments[i].name == name)
        return static_cast<uint32_t>(i);
    json.fail("'" + name + "' is not an argument");
  }

  void readFiles() {
    for (const auto &[name, json] : root_.at("files").members()) {
      ArtifactFile file;
      file.name = fileName(json, name);
      file.bytes = static_cast<uint64_t>(json.at("bytes").integer(0, largest));
      JsonView digits = json.at("fnv1a64");
      std::optional<uint64_t> value = fromHex(digits.string());
      if (!value)
        digits.fail("found '" + digits.string() + "', required 16 hexadecimal digits");
      file.fnv1a64 = *value;
      m_.files.push_back(std::move(file));
    }
    m_.kernel = listedFile(root_.at("kernel"));
    if (std::optional<JsonView> entry = root_.find("entry"))
      m_.entry = entry->string();
  }

  std::string listedFile(const JsonView &json) const {
    std::string name = fileName(json, json.string());
    if (std::none_of(m_.files.begin(), m_.files.end(), [&](const ArtifactFile &f) { return f.name == name; }))
      json.fail("'" + name + "' is not listed in files");
    return name;
  }

  void readCuda() {
    JsonView json = root_.at("cuda");
    CudaSection cuda;
    if (std::optional<JsonView> variants = json.find("variants"))
      for (const JsonView &item : variants->items())
        cuda.variants.push_back(readVariant(item));
    else
      cuda.variants.push_back(readVariant(json));
    if (cuda.variants.empty())
      json.at("variants").fail("lists no variant, required at least one");
    for (const JsonView &item : json.at("cubins").items()) {
      JsonView name = item.at("arch");
      std::optional<GpuArchitecture> architecture = GpuArchitecture::parse(name.string());
      if (!architecture)
        name.fail("found '" + name.string() + "', required a name like sm_90 or sm_90a");
      for (const CudaSection::Cubin &other : cuda.cubins)
        if (other.architecture.name == architecture->name)
          name.fail("'" + architecture->name + "' has two cubins");
      std::vector<std::string> files;
      if (std::optional<JsonView> several = item.find("files"))
        for (const JsonView &file : several->items())
          files.push_back(listedFile(file));
      else
        files.push_back(listedFile(item.at("file")));
      if (files.empty())
        item.at("files").fail("lists no file, required at least one");
      cuda.cubins.push_back({std::move(*architecture), std::move(files)});
    }
    if (cuda.cubins.empty())
      json.at("cubins").fail("lists no cubin, required at least one");
    m_.cuda = std::move(cuda);
  }

  CudaSection::Variant readVariant(const JsonView &json) {
    CudaSection::Variant variant;
    // The largest values any driver's interface can express; what a GPU has is asked of the GPU.
    JsonView threads = json.at("threads");
    variant.threads = static_cast<uint32_t>(threads.integer(1, 1024));
    if (variant.threads % 32 != 0)
      threads.fail("found " + std::to_string(variant.threads) + ", required a multiple of 32");
    variant.sharedBytes =
        static_cast<uint32_t>(json.at("shared_bytes").integer(0, std::numeric_limits<int32_t>::max()));
    if (std::optional<JsonView> suffix = json.find("suffix"))
      variant.suffix = suffix->string();
    if (std::optional<JsonView> without = json.find("without"))
      for (const JsonView &call : without->items())
        variant.without.push_back(
            static_cast<uint32_t>(call.integer(0, static_cast<int64_t>(root_.at("calls").items().size()) - 1)));
    return variant;
  }

  void readTensorMaps() {
    std::optional<JsonView> maps = root_.at("cuda").find("tensor_maps");
    if (!maps)
      return;
    for (const JsonView &item : maps->items()) {
      CudaSection::TensorMap map{};
      map.memory = index(item.at("memory"), m_.memories.size(), "memories");
      const Memory &memory = m_.memories[map.memory];
      if (memory.dims.size() < 2 || memory.dims.size() > 5 || bytesOf(memory.type) != 2 || !isFloat(memory.type))
        item.at("memory").fail("memory '" + memory.name + "' has rank " + std::to_string(memory.dims.size()) +
                               " and type " + std::string(name(memory.type)) +
                               ", required rank 2 to 5 and type bf16 or f16");
      std::vector<JsonView> box = item.at("box").items();
      if (box.size() != 2)
        item.at("box").fail("found " + std::to_string(box.size()) + " entries, required 2: rows and columns of a tile");
      map.rows = static_cast<uint32_t>(box[0].integer(1, 256));
      if (memory.argument && m_.arguments[*memory.argument].packed) {
        const TileShape &tile = *m_.arguments[*memory.argument].packed;
        if (memory.dims.size() > 3 || map.rows % tile.rows || 64 % tile.columns)
          item.fail("memory '" + memory.name + "' is packed in tiles of " + std::to_string(tile.rows) + " x " +
                    std::to_string(tile.columns) + ", required a box of whole tiles and rank 2 or 3");
      }
      map.columns = static_cast<uint32_t>(box[1].integer(64, 64 * 128));
      if (map.columns % 64) // what the swizzle spans
        box[1].fail("found " + std::to_string(map.columns) + ", required a multiple of 64");
      if (std::optional<JsonView> outside = item.find("may_read_outside"))
        map.mayReadOutside = outside->boolean();
      m_.cuda->tensorMaps.push_back(map);
    }
  }

  void readSymbolNames() {
    std::set<std::string> seen;
    for (const JsonView &json : root_.at("symbols").items()) {
      Symbol symbol;
      symbol.name = json.at("name").string();
      if (!seen.insert(symbol.name).second)
        json.fail("symbol '" + symbol.name + "' is declared twice");
      symbol.min = json.at("min").integer();
      symbol.max = json.at("max").integer(symbol.min, largest);
      symbolNames_.push_back(symbol.name);
      m_.symbols.push_back(std::move(symbol));
    }
  }

  void readArguments() {
    std::set<std::string> seen;
    for (const JsonView &json : root_.at("arguments").items()) {
      Argument argument;
      argument.name = json.at("name").string();
      if (!seen.insert(argument.name).second)
        json.fail("argument '" + argument.name + "' is declared twice");
      std::string kind = json.at("kind").string();
      if (kind == "index") {
        argument.kind = Argument::Kind::index;
        JsonView symbol = json.at("symbol");
        auto found = std::find(symbolNames_.begin(), symbolNames_.end(), symbol.string());
        if (found == symbolNames_.end())
          symbol.fail("'" + symbol.string() + "' is not a symbol of the manifest");
        argument.symbol = static_cast<uint32_t>(found - symbolNames_.begin());
      } else if (kind == "tensor") {
        argument.kind = Argument::Kind::tensor;
        readTensor(json, argument);
      } else {
        json.at("kind").fail("found '" + kind + "', required tensor or index");
      }
      m_.arguments.push_back(std::move(argument));
    }
  }

  void readTensor(const JsonView &json, Argument &argument) {
    argument.type = type(json.at("type"));
    argument.dims = expressions(json.at("dims"));
    JsonView access = json.at("access");
    if (access.string() == "read")
      argument.access = Access::read;
    else if (access.string() == "write")
      argument.access = Access::write;
    else if (access.string() == "readwrite")
      argument.access = Access::readwrite;
    else
      access.fail("found '" + access.string() + "', required one of read write readwrite");
    if (std::optional<JsonView> immutable = json.find("immutable"))
      argument.immutable = immutable->boolean();
    if (argument.immutable && argument.access != Access::read)
      json.fail("argument '" + argument.name + "' is immutable, but its access is " + access.string());
    if (std::optional<JsonView> packed = json.find("packed")) {
      std::vector<JsonView> tile = packed->items();
      if (tile.size() != 2)
        packed->fail("found " + std::to_string(tile.size()) + " entries, required 2: rows and columns of a tile");
      argument.packed = TileShape{tile[0].integer(1, 4096), tile[1].integer(1, 4096)};
      if (argument.dims.size() < 2 || !argument.immutable)
        packed->fail("argument '" + argument.name + "' is packed, required an immutable tensor of rank 2 or more");
    }
    if (std::optional<JsonView> align = json.find("align")) {
      argument.align = align->integer(1, 4096);
      if (!std::has_single_bit(static_cast<uint64_t>(argument.align)))
        align->fail("found " + std::to_string(argument.align) + ", required a power of two");
    } else {
      argument.align = static_cast<int64_t>(bytesOf(argument.type));
    }
  }

  void readSymbolSources() {
    std::vector<JsonView> symbols = root_.at("symbols").items();
    for (size_t i = 0; i < symbols.size(); ++i) {
      for (const JsonView &json : symbols[i].at("from").items()) {
        uint32_t number = argumentNamed(json.at("argument"));
        const Argument &argument = m_.arguments[number];
        std::optional<JsonView> dim = json.find("dim");
        if (dim.has_value() != (argument.kind == Argument::Kind::tensor))
          json.fail(dim ? "argument '" + argument.name + "' is an index and has no dimensions"
                        : "argument '" + argument.name + "' is a tensor, so key 'dim' is required");
        SymbolSource source{number, std::nullopt};
        if (dim) {
          source.dim = index(*dim, argument.dims.size(), "dimensions");
          if (argument.dims[*source.dim].asSymbol() != i)
            json.fail("dimension " + std::to_string(*source.dim) + " of argument '" + argument.name + "' is '" +
                      argument.dims[*source.dim].text() + "', required '" + m_.symbols[i].name + "'");
        } else if (argument.symbol != i) {
          json.fail("argument '" + argument.name + "' gives symbol '" + symbolNames_[argument.symbol] +
                    "', required '" + m_.symbols[i].name + "'");
        }
        m_.symbols[i].from.push_back(source);
      }
      if (m_.symbols[i].from.empty())
        symbols[i].fail("symbol '" + m_.symbols[i].name + "' comes from no argument");
    }
  }

  void readMemories() {
    std::vector<uint32_t> tensors;
    for (size_t i = 0; i < m_.arguments.size(); ++i)
      if (m_.arguments[i].kind == Argument::Kind::tensor)
        tensors.push_back(static_cast<uint32_t>(i));
    for (const JsonView &json : root_.at("memories").items()) {
      Memory memory;
      memory.name = json.at("name").string();
      size_t position = m_.memories.size();
      if (std::optional<JsonView> argument = json.find("argument")) {
        uint32_t number = index(*argument, m_.arguments.size(), "arguments");
        if (position >= tensors.size() || tensors[position] != number)
          argument->fail("found " + std::to_string(number) + ", required " +
                         (position < tensors.size() ? std::to_string(tensors[position])
                                                    : std::string("no argument: all tensors are listed")));
        memory.argument = number;
        memory.type = m_.arguments[number].type;
        memory.dims = m_.arguments[number].dims;
      } else {
        if (position < tensors.size())
          json.fail("found a planned buffer, required argument " + std::to_string(tensors[position]));
        memory.type = type(json.at("type"));
        memory.dims = expressions(json.at("dims"));
      }
      m_.memories.push_back(std::move(memory));
    }
    if (m_.memories.size() < tensors.size())
      root_.at("memories")
          .fail("lists " + std::to_string(m_.memories.size()) + " of " + std::to_string(tensors.size()) +
                " tensor arguments");
  }

  void readEvents() {
    for (const JsonView &json : root_.at("events").items()) {
      Event event;
      event.name = json.at("name").string();
      event.dims = expressions(json.at("dims"));
      if (std::optional<JsonView> count = json.find("count"))
        event.count = count->isString() ? count->string() : count->dump();
      m_.events.push_back(std::move(event));
    }
  }

  void readCalls() {
    if (std::optional<JsonView> repeats = root_.find("repeats"))
      for (const JsonView &json : repeats->items())
        m_.repeats.push_back(expression(json.at("extent")));
    for (const JsonView &json : root_.at("calls").items()) {
      Call call;
      call.name = json.at("name").string();
      call.device = json.at("device").string();
      for (const JsonView &coord : json.at("coords").items())
        call.coords.push_back(coord.string());
      call.extents = expressions(json.at("extents"));
      if (std::optional<JsonView> ragged = json.find("ragged"))
        call.ragged =
            Ragged{static_cast<uint32_t>(ragged->at("first").integer(0, 1 << 16)), expression(ragged->at("bound"))};
      size_t expected = call.coords.size() - (call.ragged ? 1 : 0);
      if (call.extents.size() != expected || (call.ragged && call.ragged->first + 1 >= call.coords.size()))
        json.fail("call '" + call.name + "' has " + std::to_string(call.coords.size()) + " coords and " +
                  std::to_string(call.extents.size()) + " extents, required " +
                  (call.ragged ? "one extent fewer than coords, and ragged.first below the last coord"
                               : std::string("as many extents as coords")));
      if (std::optional<JsonView> repeat = json.find("repeat"))
        call.repeat = index(*repeat, m_.repeats.size(), "repeats");
      m_.calls.push_back(std::move(call));
    }
  }

  void readCosts() {
    std::optional<JsonView> graph = root_.find("cost");
    if (!graph)
      return;
    m_.cost = GraphCost{expression(graph->at("ops")), expression(graph->at("bytes"))};
    std::vector<JsonView> calls = root_.at("calls").items();
    for (size_t k = 0; k < calls.size(); ++k) {
      JsonView json = calls[k].at("cost");
      CallCost cost{expression(json.at("ops")),
                    expression(json.at("bytes")),
                    expression(json.at("phases")),
                    json.at("waits").integer(0, 1 << 20),
                    {}};
      for (const JsonView &assumption : json.at("assumptions").items())
        cost.assumptions.push_back(assumption.string());
      m_.calls[k].cost = std::move(cost);
    }
  }

  void readRegions() {
    std::set<uint32_t> counted;
    for (const JsonView &json : root_.at("regions").items()) {
      Region region{json.at("name").string(), json.at("kind").string(), std::nullopt, expression(json.at("bytes")),
                    json.at("zero").boolean()};
      if (region.kind == "event") {
        region.event = index(json.at("event"), m_.events.size(), "events");
        if (!counted.insert(*region.event).second)
          json.fail("event '" + m_.events[*region.event].name + "' has two regions");
        if (!region.zero)
          json.fail("region '" + region.name + "' holds an event's counters, so zero must be true");
      }
      m_.regions.push_back(std::move(region));
    }
  }

  void readSchedules() {
    JsonView schedules = root_.at("schedules");
    for (const auto &[name, json] : schedules.members()) {
      auto found = std::find(scheduleNames.begin(), scheduleNames.end(), name);
      if (found == scheduleNames.end())
        json.fail("'" + name + "' is not one of static ticket dynamic");
      ScheduleSupport &support = m_.schedules[static_cast<size_t>(found - scheduleNames.begin())];
      support.supported = json.at("supported").boolean();
      if (std::optional<JsonView> why = json.find("why"))
        support.why = why->string();
    }
    for (ScheduleSupport &support : m_.schedules)
      if (!support.supported && support.why.empty())
        support.why = "the artifact does not hold it";
  }

  JsonView root_;
  Manifest m_;
  std::vector<std::string> symbolNames_;
};

} // namespace

Manifest parseManifest(const std::string &text, const std::string &file) {
  checkDepth(text, file);
  nlohmann::json document;
  try {
    document = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error &error) {
    throw Error(EVT_ERROR_ARTIFACT, file + ": is not JSON: byte " + std::to_string(error.byte) + " of " +
                                        std::to_string(text.size()) + " is not what the grammar requires");
  } catch (const nlohmann::json::out_of_range &) {
    throw Error(EVT_ERROR_ARTIFACT, file + ": has a number too large for any type");
  }
  JsonView root(document, file);
  checkVersions(root, file);
  checkChecksum(root, text);
  return Reader(root).read();
}

} // namespace evt::runtime
