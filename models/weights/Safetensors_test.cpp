#include "models/weights/Safetensors.h"

#include "models/config/Problems.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace evt::models {
namespace {

std::vector<StoredTensor> parse(const std::string &file) {
  return parseHeader({reinterpret_cast<const std::byte *>(file.data()), file.size()}, "m");
}

std::string refusal(const std::string &file) {
  try {
    parse(file);
  } catch (const Problems &problems) {
    return problems.what();
  }
  return "accepted";
}

// A file by hand, independent of formatHeader.
std::string fileOf(const std::string &header, size_t dataBytes) {
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<char>(header.size() >> (8 * i));
  return length + header + std::string(dataBytes, 'x');
}

const std::string good = R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]},)"
                         R"("a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
                         R"("none":{"dtype":"F16","shape":[0,7],"data_offsets":[12,12]},)"
                         R"("scalar":{"dtype":"F16","shape":[],"data_offsets":[20,22]}}   )";

TEST(Safetensors, Reads) {
  std::vector<StoredTensor> tensors = parse(fileOf(good, 22));
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensors[0].type, ElementType::bf16);
  EXPECT_EQ(tensors[0].offset, 8 + good.size());
  EXPECT_EQ(tensors[1].name, "none");
  EXPECT_EQ(tensors[1].bytes(), 0u);
  EXPECT_EQ(tensors[2].name, "b");
  EXPECT_EQ(tensors[2].offset, 8 + good.size() + 12);
  EXPECT_EQ(tensors[3].name, "scalar");
  EXPECT_EQ(tensors[3].elements(), 1u);
  EXPECT_TRUE(parse(fileOf("{}", 0)).empty());
}

TEST(Safetensors, Writes) {
  std::vector<TensorType> tensors{{"w", ElementType::bf16, {2, 3}}, {"v", ElementType::f32, {5}}};
  std::string header = formatHeader(tensors);
  EXPECT_EQ(header.size() % 8, 0u);
  EXPECT_EQ(header.substr(8, header.find_last_not_of(' ') - 7),
            R"({"__metadata__":{"format":"pt"},"w":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
            R"("v":{"dtype":"F32","shape":[5],"data_offsets":[12,32]}})");
  EXPECT_EQ(static_cast<unsigned char>(header[0]), header.size() - 8);
  std::vector<StoredTensor> read = parse(header + std::string(32, 'x'));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].name, "v");
  EXPECT_EQ(read[1].offset, header.size() + 12);
}

TEST(Safetensors, NamesWhatIsWrong) {
  auto one = [](const std::string &entry, size_t bytes) { return refusal(fileOf("{\"w\":" + entry + "}", bytes)); };
  EXPECT_EQ(refusal("1234567"), "'m': has 7 bytes, required at least 8 for a header's length");
  EXPECT_EQ(refusal(std::string(16, '~')), "'m': says that its header has 9114861777597660798 bytes, required at most "
                                           "100000000; is it a safetensors file?");
  EXPECT_EQ(refusal(fileOf(good, 0).substr(0, 20)), "'m': says that its header has 266 bytes, but has 12 after the "
                                                    "length; it is cut off");
  EXPECT_EQ(refusal(fileOf("[]", 0)), "'m': is JSON of type array, required an object");
  EXPECT_EQ(refusal(fileOf("{\"w\":1,\"w\":1}", 0)), "'m': the key 'w' is there twice");
  EXPECT_EQ(refusal(fileOf(R"({"__metadata__":{"a":1}})", 0)),
            "'m': __metadata__ is object, required an object of strings");
  EXPECT_EQ(one("7", 0), "'m': tensor 'w': is of type number, required an object");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[]})", 0), "'m': tensor 'w': data_offsets is missing");
  EXPECT_EQ(one(R"({"dtype":"I8","shape":[1],"data_offsets":[0,1]})", 1),
            "'m': tensor 'w': dtype is \"I8\", required BF16, F16 or F32");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", 4),
            "'m': tensor 'w': shape is [-1], required a list of sizes");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]})", 4),
            "'m': tensor 'w': shape is [4294967296,4294967296], which is more than memory holds");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})", 4),
            "'m': tensor 'w': data_offsets is [0], required [begin, end]");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", 4),
            "'m': tensor 'w': data_offsets is [4,0], required an order and at most 4, the bytes after the header");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 4),
            "'m': tensor 'w': data_offsets is [0,8], required an order and at most 4, the bytes after the header");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4),
            "'m': tensor 'w': has 4 bytes, required 8 for f32 of [2]");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})", 8),
            "'m': bytes 0 to 4 after the header belong to no tensor");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})", 8), "'m': the last 4 bytes belong to no tensor");
  EXPECT_EQ(refusal(fileOf(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                           R"("v\n":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                           4)),
            "'m': tensor 'w' overlaps tensor 'v\\x0a'");
  EXPECT_EQ(refusal(fileOf(R"({"w":1,"v":2})", 0)), "'m' has 2 problems:\n  tensor 'v': is of type number, required an "
                                                    "object\n  tensor 'w': is of type number, required an object");
}

// Whatever is accepted can be read: the tensors divide the bytes after the header among them.
void expectReadable(const std::string &file) {
  try {
    uint64_t next = 0;
    for (const StoredTensor &tensor : parse(file)) {
      if (next) {
        ASSERT_EQ(tensor.offset, next);
      }
      ASSERT_LE(tensor.offset, file.size());
      ASSERT_LE(tensor.bytes(), file.size() - tensor.offset);
      next = tensor.offset + tensor.bytes();
    }
    if (next) {
      ASSERT_EQ(next, file.size());
    }
  } catch (const Problems &problems) {
    ASSERT_STRNE(problems.what(), "");
  }
}

TEST(Safetensors, DamagedBytesAreRefusedOrHarmless) {
  std::string file = fileOf(good, 22);
  size_t headerEnd = file.size() - 22;
  for (size_t i = 0; i < headerEnd; ++i) {
    for (int c : std::initializer_list<int>{0, 1, 0xff, 0x80, '"', '{', '}', '[', ']', ',', ':', '-', '.', 'e', '0',
                                            '9', ' ', '\\'}) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(c);
      expectReadable(damaged);
    }
    expectReadable(file.substr(0, i) + file.substr(i + 1));
    expectReadable(file.substr(0, i) + file[i] + file.substr(i));
  }
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_NE(refusal(file.substr(0, length)), "accepted") << length;
  EXPECT_NE(refusal(file + "x"), "accepted");
}

TEST(Safetensors, ManyDamagedBytes) {
  std::mt19937 random(1);
  const std::string alphabet = "{}[],:\"0123456789-eBF16dtypeshap_ofs \\u\x00\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = fileOf(good, 22);
    for (unsigned changes = 1 + random() % 6; changes; --changes)
      damaged[random() % 10 ? 8 + random() % (damaged.size() - 8) : random() % 8] =
          alphabet[random() % alphabet.size()];
    expectReadable(damaged);
  }
}

TEST(Safetensors, DeepNesting) {
  EXPECT_NE(refusal(fileOf("{\"w\":" + std::string(1'000'000, '['), 0)), "accepted");
  std::string deep = "{\"w\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_NE(refusal(fileOf(deep, 0)), "accepted");
}

} // namespace
} // namespace evt::models
