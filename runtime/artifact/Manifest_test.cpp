// Each test takes the manifest of a real artifact, changes one thing, and expects the sentence about it.
#include "runtime/artifact/Manifest.h"

#include "runtime/Error.h"
#include "runtime/artifact/Fingerprint.h"
#include "runtime/artifact/Shapes.h"
#include "runtime/testdata/SignedManifest.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace evt::runtime;
using nlohmann::json;

namespace {

using handwritten::signedText;

std::string text(const std::string &artifact = "row_sum") {
  std::ifstream file(std::string(EVT_TEST_ARTIFACTS) + "/" + artifact + "/manifest.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

json manifest(const std::string &artifact = "row_sum") { return json::parse(text(artifact)); }

std::string message(const std::string &text, evt_code code = EVT_ERROR_ARTIFACT) {
  try {
    parseManifest(text, "manifest.json");
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

// The complaint about the manifest with the value at a JSON pointer replaced, or erased where `value` is null.
std::string changed(const char *pointer, const json &value, const std::string &artifact = "row_sum") {
  json document = manifest(artifact);
  json::json_pointer place(pointer);
  if (value.is_null())
    document[place.parent_pointer()].erase(place.back());
  else
    document[place] = value;
  std::string found = message(signedText(document));
  std::string prefix = "manifest.json: ";
  return found.starts_with(prefix) ? found.substr(prefix.size()) : found;
}

TEST(Manifest, ReadsEverything) {
  Manifest m = parseManifest(text(), "manifest.json");
  EXPECT_EQ(m.graph, "row_sum");
  EXPECT_EQ(m.tool, "by hand");
  ASSERT_EQ(m.symbols.size(), 1u);
  EXPECT_EQ(m.symbols[0].max, 1000000);
  ASSERT_EQ(m.symbols[0].from.size(), 2u);
  EXPECT_EQ(m.symbols[0].from[1].argument, 1u);
  EXPECT_EQ(m.symbols[0].from[1].dim, 0u);
  ASSERT_EQ(m.arguments.size(), 2u);
  EXPECT_EQ(m.arguments[0].align, 16);
  EXPECT_TRUE(m.arguments[0].immutable);
  EXPECT_EQ(m.arguments[1].access, Access::write);
  ASSERT_EQ(m.memories.size(), 3u);
  EXPECT_EQ(m.memories[1].argument, 1u);
  EXPECT_EQ(m.memories[2].argument, std::nullopt);
  EXPECT_EQ(m.memories[2].dims[1].asConstant(), 4);
  EXPECT_EQ(m.events[0].count, "4");
  EXPECT_EQ(m.calls[0].coords, (std::vector<std::string>{"i", "j"}));
  EXPECT_EQ(m.regions[0].event, 0u);
  EXPECT_TRUE(m.schedules[EVT_STATIC].supported);
  EXPECT_EQ(m.schedules[EVT_TICKET].why, "this kernel was written by hand");
  EXPECT_EQ(m.queueBound->text(), "n * 4 + n");
  EXPECT_EQ(m.files[0].name, "kernel.so");
}

// row_sum's manifest with costs, which hand-written kernels do not have.
json withCosts() {
  json document = manifest();
  document["cost"] = {{"ops", json::array({"*", 4100, "n"})}, {"bytes", json::array({"*", 16388, "n"})}};
  for (json &call : document["calls"])
    call["cost"] = {{"ops", 1}, {"bytes", 2}, {"phases", 3}, {"waits", 1}, {"assumptions", {"none"}}};
  return document;
}

TEST(Manifest, ReadsCosts) {
  EXPECT_FALSE(parseManifest(text(), "manifest.json").cost);
  Manifest m = parseManifest(signedText(withCosts()), "manifest.json");
  std::vector<int64_t> n{10};
  EXPECT_EQ(m.cost->ops.evaluate(n), 41000);
  EXPECT_EQ(m.cost->bytes.evaluate(n), 163880);
  EXPECT_EQ(m.calls[1].cost->phases.asConstant(), 3);
  EXPECT_EQ(m.calls[1].cost->waits, 1);
  EXPECT_EQ(m.calls[1].cost->assumptions, std::vector<std::string>{"none"});
}

TEST(Manifest, RefusesHalfOfTheCosts) {
  json document = withCosts();
  document["calls"][1].erase("cost");
  EXPECT_EQ(message(signedText(document)), "manifest.json: calls[1]: key 'cost' is missing");
  document = withCosts();
  document["calls"][0]["cost"]["waits"] = -1;
  EXPECT_THAT(message(signedText(document)), testing::HasSubstr("calls[0].cost.waits: found -1"));
  document["calls"][0]["cost"]["waits"] = 0;
  document["cost"]["bytes"] = "m";
  EXPECT_THAT(message(signedText(document)), testing::HasSubstr("cost.bytes"));
}

TEST(Manifest, ReadsIndexArgumentsRaggedCallsAndObligations) {
  Manifest m = parseManifest(text("faults"), "manifest.json");
  EXPECT_EQ(m.arguments[1].kind, Argument::Kind::index);
  EXPECT_EQ(m.symbols[0].from[0].dim, std::nullopt);
  EXPECT_EQ(m.calls[0].ragged->first, 0u);
  EXPECT_EQ(m.obligations[0], R"({"call":"experts","kind":"bound"})");
  EXPECT_EQ(m.schedules[EVT_DYNAMIC].why, "the artifact does not hold it");
}

TEST(Manifest, RefusesOtherVersionsNamingBoth) {
  json document = manifest();
  document["format"] = 2;
  EXPECT_EQ(message(signedText(document), EVT_ERROR_INCOMPATIBLE),
            "manifest.json: format is 2, this runtime reads format 1");
  document["format"] = 1;
  document["abi"] = 2;
  EXPECT_EQ(message(signedText(document), EVT_ERROR_INCOMPATIBLE), "manifest.json: abi is 2, this runtime runs abi 3");
}

TEST(Manifest, RefusesAnAlteredText) {
  std::string altered = text();
  size_t place = altered.find("4096");
  altered[place + 3] = '7';
  std::string found = message(altered);
  EXPECT_TRUE(found.starts_with("manifest.json: was altered: its fnv1a64 is ")) << found;
  EXPECT_TRUE(found.ends_with(", its checksum says " + json::parse(text())["checksum"].get<std::string>())) << found;
  json document = manifest();
  document["checksum"] = "12";
  EXPECT_EQ(message(document.dump()), "manifest.json: checksum: found '12', required 16 hexadecimal digits");
  document.erase("checksum");
  EXPECT_EQ(message(document.dump()), "manifest.json: key 'checksum' is missing");
}

TEST(Manifest, EveryTruncationIsAnError) {
  std::string whole = text();
  while (!whole.empty() && whole.back() != '}')
    whole.pop_back();
  for (size_t length = 0; length < whole.size(); ++length)
    ASSERT_NE(message(whole.substr(0, length)), "no error") << length;
  EXPECT_EQ(message(whole.substr(0, 10)), "manifest.json: is not JSON: byte 11 of 10 is not what the grammar requires");
}

// Wherever it stands, also where the reader looks at nothing.
TEST(Manifest, NestingTooDeepForTheStack) {
  std::string deep(200000, '['), ends(200000, ']');
  std::string whole = text();
  EXPECT_EQ(message("{\"obligations\": " + deep + ends + "," + whole.substr(1)),
            "manifest.json: is nested more than 1000 deep");
  json document = manifest();
  document["graph"] = "[[[ \\\" [[[" + std::string(5000, '[');
  EXPECT_EQ(message(signedText(document)), "no error") << "brackets in a string do not nest";
}

TEST(Manifest, NumbersTooLargeForJson) {
  EXPECT_EQ(message(R"({"format": 1e999})"), "manifest.json: has a number too large for any type");
  EXPECT_EQ(message(R"({"format": 1.0})"), "manifest.json: format: found a fraction, required an integer");
}

TEST(Manifest, MissingKeysAndWrongKinds) {
  EXPECT_EQ(message("[]"), "manifest.json: found an array, required an object");
  for (const char *key : {"graph", "kernel", "files", "symbols", "arguments", "memories", "events", "calls", "regions",
                          "schedules", "tool", "target"})
    EXPECT_EQ(changed(("/" + std::string(key)).c_str(), nullptr), "key '" + std::string(key) + "' is missing");
  EXPECT_EQ(changed("/calls/1/device", nullptr), "calls[1]: key 'device' is missing");
  EXPECT_EQ(changed("/graph", 7), "graph: found an integer, required a string");
  EXPECT_EQ(changed("/graph", ""), "graph: found an empty string");
  EXPECT_EQ(changed("/graph", "a\nb"), "graph: found a string with a control character");
  EXPECT_EQ(changed("/events", json::object()), "events: found an object, required an array");
  EXPECT_EQ(changed("/regions/0/zero", 1), "regions[0].zero: found an integer, required a boolean");
}

TEST(Manifest, Files) {
  EXPECT_EQ(changed("/kernel", "other.so"), "kernel: 'other.so' is not listed in files");
  EXPECT_EQ(changed("/kernel", "../kernel.so"),
            "kernel: '../kernel.so' is not the name of a file in the artifact's directory");
  EXPECT_EQ(changed("/files/kernel.so/bytes", -1), "files.kernel.so.bytes: found -1, required 0..9223372036854775807");
  EXPECT_EQ(changed("/files/kernel.so/fnv1a64", "XYZ"),
            "files.kernel.so.fnv1a64: found 'XYZ', required 16 hexadecimal digits");
}

TEST(Manifest, Symbols) {
  EXPECT_EQ(changed("/symbols/0/max", -1), "symbols[0].max: found -1, required 0..9223372036854775807");
  EXPECT_EQ(changed("/symbols/0/from", json::array()), "symbols[0]: symbol 'n' comes from no argument");
  EXPECT_EQ(changed("/symbols/0/from/0/argument", "z"), "symbols[0].from[0].argument: 'z' is not an argument");
  EXPECT_EQ(changed("/symbols/0/from/0/dim", 2),
            "symbols[0].from[0].dim: found 2, required the index of one of 2 dimensions");
  EXPECT_EQ(changed("/symbols/0/from/0/dim", 1),
            "symbols[0].from[0]: dimension 1 of argument 'x' is '4096', required 'n'");
  EXPECT_EQ(changed("/symbols/0/from/0/dim", nullptr),
            "symbols[0].from[0]: argument 'x' is a tensor, so key 'dim' is required");
  EXPECT_EQ(changed("/symbols/0/from/0/dim", 0, "chain"),
            "symbols[0].from[0]: argument 'steps' is an index and has no dimensions");
  json document = manifest();
  document["symbols"].push_back(document["symbols"][0]);
  EXPECT_EQ(message(signedText(document)), "manifest.json: symbols[1]: symbol 'n' is declared twice");
}

TEST(Manifest, Arguments) {
  EXPECT_EQ(changed("/arguments/1/name", "x"), "arguments[1]: argument 'x' is declared twice");
  EXPECT_EQ(changed("/arguments/0/kind", "scalar"), "arguments[0].kind: found 'scalar', required tensor or index");
  EXPECT_EQ(changed("/arguments/0/type", "f64"),
            "arguments[0].type: found 'f64', required one of f32 bf16 f16 i32 i64 i1");
  EXPECT_EQ(changed("/arguments/0/access", "r"),
            "arguments[0].access: found 'r', required one of read write readwrite");
  EXPECT_EQ(changed("/arguments/1/immutable", true),
            "arguments[1]: argument 'y' is immutable, but its access is write");
  EXPECT_EQ(changed("/arguments/0/align", 12), "arguments[0].align: found 12, required a power of two");
  EXPECT_EQ(changed("/arguments/0/align", 0), "arguments[0].align: found 0, required 1..4096");
  EXPECT_EQ(changed("/arguments/0/dims/0", "k"), "arguments[0].dims[0]: 'k' is not a symbol of the manifest");
  EXPECT_EQ(changed("/arguments/0/symbol", "k", "chain"), "arguments[0].symbol: 'k' is not a symbol of the manifest");
}

TEST(Manifest, Memories) {
  EXPECT_EQ(changed("/memories/0/argument", 1), "memories[0].argument: found 1, required 0");
  EXPECT_EQ(changed("/memories/0/argument", 5),
            "memories[0].argument: found 5, required the index of one of 2 arguments");
  EXPECT_EQ(changed("/memories/2/argument", 1),
            "memories[2].argument: found 1, required no argument: all tensors are listed");
  EXPECT_EQ(changed("/memories/1", json{{"name", "q"}, {"type", "f32"}, {"dims", json::array()}}),
            "memories[1]: found a planned buffer, required argument 1");
  EXPECT_EQ(changed("/memories", json::array({{{"name", "x"}, {"argument", 0}}})),
            "memories: lists 1 of 2 tensor arguments");
}

TEST(Manifest, Calls) {
  EXPECT_EQ(changed("/calls/0/extents", json::array({"n"})),
            "calls[0]: call 'partial' has 2 coords and 1 extents, required as many extents as coords");
  EXPECT_EQ(changed("/calls/0/ragged/first", 1, "faults"),
            "calls[0]: call 'experts' has 2 coords and 1 extents, required one extent fewer than coords, and "
            "ragged.first below the last coord");
  EXPECT_EQ(changed("/calls/0/repeat", 0), "calls[0].repeat: found 0, required the index of one of 0 repeats");
}

TEST(Manifest, RegionsAndSchedules) {
  EXPECT_EQ(changed("/regions/0/event", 1), "regions[0].event: found 1, required the index of one of 1 events");
  EXPECT_EQ(changed("/regions/0/zero", false),
            "regions[0]: region 'done' holds an event's counters, so zero must be true");
  json document = manifest();
  document["regions"][1] = document["regions"][0];
  EXPECT_EQ(message(signedText(document)), "manifest.json: regions[1]: event 'done' has two regions");
  EXPECT_EQ(changed("/schedules/random", json{{"supported", true}}),
            "schedules.random: 'random' is not one of static ticket dynamic");
}

TEST(Manifest, ReadsTheCudaSection) {
  Manifest m = parseManifest(text("row_sum_cuda"), "manifest.json");
  EXPECT_EQ(m.target, "cuda");
  EXPECT_EQ(m.kernel, "explain.so");
  EXPECT_EQ(m.architecture, "") << "no cpu section is required";
  ASSERT_TRUE(m.cuda);
  ASSERT_EQ(m.cuda->variants.size(), 1u);
  EXPECT_EQ(m.cuda->variants[0].threads, 64u);
  EXPECT_EQ(m.cuda->variants[0].sharedBytes, 1024u);
  ASSERT_EQ(m.cuda->cubins.size(), 1u);
  EXPECT_EQ(m.cuda->cubins[0].architecture.name, "sm_90a");
  EXPECT_THAT(m.cuda->cubins[0].files, testing::ElementsAre("kernel.sm_90a.cubin"));
  EXPECT_FALSE(parseManifest(text("row_sum"), "manifest.json").cuda);
}

TEST(Manifest, TheCudaSection) {
  auto wrong = [](const char *pointer, const json &value) { return changed(pointer, value, "row_sum_cuda"); };
  EXPECT_EQ(wrong("/cuda", nullptr), "key 'cuda' is missing");
  EXPECT_EQ(wrong("/cuda", 3), "cuda: found an integer, required an object");
  EXPECT_EQ(wrong("/cuda/threads", nullptr), "cuda: key 'threads' is missing");
  EXPECT_EQ(wrong("/cuda/threads", 2048), "cuda.threads: found 2048, required 1..1024");
  EXPECT_EQ(wrong("/cuda/threads", 100), "cuda.threads: found 100, required a multiple of 32");
  EXPECT_EQ(wrong("/cuda/threads", "64"), "cuda.threads: found a string, required an integer");
  EXPECT_EQ(wrong("/cuda/shared_bytes", -1), "cuda.shared_bytes: found -1, required 0..2147483647");
  EXPECT_EQ(wrong("/cuda/cubins", json::array()), "cuda.cubins: lists no cubin, required at least one");
  EXPECT_EQ(wrong("/cuda/cubins", json::object()), "cuda.cubins: found an object, required an array");
  EXPECT_EQ(wrong("/cuda/cubins/0/arch", "sm90"),
            "cuda.cubins[0].arch: found 'sm90', required a name like sm_90 or sm_90a");
  EXPECT_EQ(wrong("/cuda/cubins/0/file", "other.cubin"), "cuda.cubins[0].file: 'other.cubin' is not listed in files");
  EXPECT_EQ(wrong("/cuda/cubins/0/file", "../kernel.sm_90a.cubin"),
            "cuda.cubins[0].file: '../kernel.sm_90a.cubin' is not the name of a file in the artifact's directory");
  json document = manifest("row_sum_cuda");
  json &cubin = document["cuda"]["cubins"][0];
  cubin = {{"arch", "sm_90a"}, {"files", {"explain.so", "kernel.sm_90a.cubin"}}};
  EXPECT_THAT(parseManifest(signedText(document), "manifest.json").cuda->cubins[0].files,
              testing::ElementsAre("explain.so", "kernel.sm_90a.cubin"));
  cubin["files"] = {"kernel.sm_90a.cubin", "other.cubin"};
  EXPECT_EQ(message(signedText(document)),
            "manifest.json: cuda.cubins[0].files[1]: 'other.cubin' is not listed in files");
  cubin["files"] = json::array();
  EXPECT_EQ(message(signedText(document)), "manifest.json: cuda.cubins[0].files: lists no file, required at least one");
  document = manifest("row_sum_cuda");
  document["cuda"]["cubins"].push_back(document["cuda"]["cubins"][0]);
  EXPECT_EQ(message(signedText(document)), "manifest.json: cuda.cubins[1].arch: 'sm_90a' has two cubins");
}

TEST(Manifest, TensorMaps) {
  json document = manifest("row_sum_cuda");
  document["memories"][2]["type"] = "bf16";
  auto with = [&](const json &map) {
    json changed = document;
    changed["cuda"]["tensor_maps"] = json::array({map});
    return signedText(changed);
  };
  Manifest m = parseManifest(with({{"memory", 2}, {"box", {128, 64}}}), "manifest.json");
  ASSERT_EQ(m.cuda->tensorMaps.size(), 1u);
  EXPECT_EQ(m.cuda->tensorMaps[0].memory, 2u);
  EXPECT_EQ(m.cuda->tensorMaps[0].rows, 128u);
  EXPECT_EQ(m.cuda->tensorMaps[0].columns, 64u);
  EXPECT_TRUE(parseManifest(text("row_sum_cuda"), "manifest.json").cuda->tensorMaps.empty());
  auto wrong = [&](const json &map) { return message(with(map)); };
  EXPECT_EQ(wrong({{"memory", 0}, {"box", {128, 64}}}),
            "manifest.json: cuda.tensor_maps[0].memory: memory 'x' has rank 2 and type f32, required rank 2 to 5 and "
            "type bf16 or f16");
  EXPECT_EQ(wrong({{"memory", 2}, {"box", {64}}}),
            "manifest.json: cuda.tensor_maps[0].box: found 1 entries, required 2: rows and columns of a tile");
  EXPECT_EQ(wrong({{"memory", 2}, {"box", {512, 64}}}),
            "manifest.json: cuda.tensor_maps[0].box[0]: found 512, required 1..256");
  EXPECT_EQ(wrong({{"memory", 2}, {"box", {64, 32}}}),
            "manifest.json: cuda.tensor_maps[0].box[1]: found 32, required 64..8192");
  EXPECT_EQ(wrong({{"memory", 2}, {"box", {64, 96}}}),
            "manifest.json: cuda.tensor_maps[0].box[1]: found 96, required a multiple of 64");
}

TEST(GpuArchitecture, Names) {
  auto parsed = [](const char *name) {
    std::optional<GpuArchitecture> found = GpuArchitecture::parse(name);
    return found ? std::to_string(found->major) + "." + std::to_string(found->minor) + (found->exact ? " exactly" : "")
                 : "none";
  };
  EXPECT_EQ(parsed("sm_90"), "9.0");
  EXPECT_EQ(parsed("sm_90a"), "9.0 exactly");
  EXPECT_EQ(parsed("sm_103"), "10.3");
  EXPECT_EQ(parsed("sm_121a"), "12.1 exactly");
  for (const char *wrong : {"", "sm_", "sm_9", "sm_a", "sm_90b", "sm_90aa", "sm_09", "sm_-90", "sm_90 ", "compute_90",
                            "sm_99999999999", "SM_90"})
    EXPECT_EQ(parsed(wrong), "none") << wrong;
}

TEST(GpuArchitecture, WhichGpusRunIt) {
  GpuArchitecture exact = *GpuArchitecture::parse("sm_90a"), family = *GpuArchitecture::parse("sm_86");
  EXPECT_TRUE(exact.runsOn(9, 0));
  EXPECT_FALSE(exact.runsOn(9, 1));
  EXPECT_FALSE(exact.runsOn(10, 0));
  EXPECT_FALSE(exact.runsOn(8, 9));
  EXPECT_TRUE(family.runsOn(8, 6));
  EXPECT_TRUE(family.runsOn(8, 9));
  EXPECT_FALSE(family.runsOn(8, 0));
  EXPECT_FALSE(family.runsOn(9, 6));
}

TEST(Shapes, OfOneLaunch) {
  Manifest m = parseManifest(text(), "manifest.json");
  int64_t n = 3;
  Shapes shapes = resolveShapes(m, {&n, 1});
  EXPECT_EQ(shapes.memories[0].dims, (std::vector<int64_t>{3, 4096}));
  EXPECT_EQ(shapes.memoryBytes[2], 48);
  EXPECT_EQ(shapes.events[0].elements, 3);
  EXPECT_EQ(shapes.calls[1].firstTask, 12);
  EXPECT_EQ(shapes.tasks, 15);
  EXPECT_EQ(shapes.regionBytes, (std::vector<int64_t>{12, 4}));
}

TEST(Shapes, ANegativeGridHasNoTasks) {
  json document = manifest();
  document["calls"][0]["extents"][0] = {"-", "n", 5};
  Manifest m = parseManifest(signedText(document), "manifest.json");
  int64_t n = 3;
  Shapes shapes = resolveShapes(m, {&n, 1});
  EXPECT_EQ(shapes.calls[0].extents, (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(shapes.tasks, 3);
}

std::string shapeMessage(const char *pointer, const json &value, int64_t n) {
  json document = manifest();
  document[json::json_pointer(pointer)] = value;
  Manifest m = parseManifest(signedText(document), "manifest.json");
  try {
    resolveShapes(m, {&n, 1});
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(Shapes, ImpossibleSizes) {
  EXPECT_EQ(shapeMessage("/memories/2/dims/1", json::array({"-", "n", 9}), 3),
            "dimension 1 of buffer 'quarters' is n - 9 = -6, required at least 0");
  EXPECT_EQ(shapeMessage("/memories/2/dims/1", int64_t(1) << 62, 3),
            "number of elements of buffer 'quarters' does not fit in 64 bits: 3 * 4611686018427387904");
  EXPECT_EQ(shapeMessage("/regions/0/bytes", 8, 3),
            "region 'done' has 8 bytes, required 12 for the counters of 'done'");
  EXPECT_EQ(shapeMessage("/regions/1/bytes", -4, 3), "size of region 'left' is -4 = -4, required at least 0");
}

TEST(Shapes, ElementsAsCoordinates) {
  std::vector<int64_t> dims = {2, 3, 4};
  EXPECT_EQ(describeElement(23, dims), "[1, 2, 3]");
  EXPECT_EQ(describeElement(0, {}), "[]");
}

// Test vectors of the FNV page of its authors.
TEST(Fingerprint, PublishedVectors) {
  EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a64("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(toHex(0x00ab), "00000000000000ab");
  EXPECT_EQ(fromHex("00000000000000ab"), 0xabu);
  EXPECT_FALSE(fromHex("00000000000000AB"));
  EXPECT_FALSE(fromHex("ab"));
}

TEST(Fingerprint, FindsTheChecksumAndNotItsLookalikes) {
  EXPECT_EQ(findChecksum(R"({"graph": "checksum", "checksum" : "0123456789abcdef"})"), 36u);
  EXPECT_FALSE(findChecksum(R"({"checksum": "0123"})"));
  EXPECT_FALSE(findChecksum(R"({"checksum": "0123456789abcdef)"));
  EXPECT_FALSE(findChecksum(R"("checksum")"));
}

} // namespace
