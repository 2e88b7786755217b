#include "runtime/tensor/Npy.h"

#include "runtime/Error.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace evt::runtime;

namespace {

class Npy : public testing::Test {
protected:
  void SetUp() override {
    path_ = testing::TempDir() + "npy_" + std::to_string(getpid()) + "_" +
            testing::UnitTest::GetInstance()->current_test_info()->name() + ".npy";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // A version 1 file, put together as the format's description says.
  void write(std::string header, const std::string &data, char major = 1) {
    std::ofstream file(path_, std::ios::binary);
    header += '\n';
    file << "\x93NUMPY" << major << '\0' << static_cast<char>(header.size() & 255)
         << static_cast<char>(header.size() >> 8);
    if (major != 1)
      file << '\0' << '\0';
    file << header << data;
  }
  std::string message() {
    try {
      readNpy(path_);
    } catch (const Error &error) {
      std::string text = error.what();
      return text.starts_with(path_ + ": ") ? text.substr(path_.size() + 2) : "does not name the file: " + text;
    }
    return "no error";
  }

  std::string path_;
};

TEST_F(Npy, ReadsVersionsOneAndTwo) {
  for (char major : {1, 2}) {
    write("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }", std::string("\1\0\0\0\xff\xff\xff\xff", 8),
          major);
    HostTensor tensor = readNpy(path_);
    EXPECT_EQ(tensor.type(), DataType::i32);
    EXPECT_EQ(tensor.shape(), (std::vector<int64_t>{2, 1}));
    EXPECT_EQ(tensor.getInteger(0), 1);
    EXPECT_EQ(tensor.getInteger(1), -1);
  }
}

TEST_F(Npy, ReadsBf16FromBothSpellingsOfVoid) {
  for (const char *descr : {"<V2", "|V2"}) {
    write("{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (1,), }", "\xc0\x3f");
    HostTensor tensor = readNpy(path_);
    EXPECT_EQ(tensor.type(), DataType::bf16);
    EXPECT_EQ(tensor.get(0), 1.5);
  }
}

TEST_F(Npy, WritesTheBytesNumPyWrites) {
  HostTensor tensor(DataType::bf16, {1});
  tensor.set(0, 1.5);
  writeNpy(path_, tensor);
  std::ifstream file(path_, std::ios::binary);
  std::string found((std::istreambuf_iterator<char>(file)), {});
  std::string header = "{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }";
  std::string expected = std::string("\x93NUMPY\x01\0\x76\0", 10) + header + std::string(117 - header.size(), ' ') +
                         "\n\xc0\x3f"; // 10 + 118 = 128
  EXPECT_EQ(found, expected);
}

TEST_F(Npy, RoundTripsEveryTypeAndRank) {
  for (DataType type : {DataType::f32, DataType::bf16, DataType::f16, DataType::i32, DataType::i64, DataType::i1}) {
    for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {3}, {2, 3}, {0, 4}, {1, 2, 1, 2}}) {
      HostTensor tensor(type, shape);
      for (int64_t i = 0; i < tensor.elements(); ++i)
        tensor.setInteger(i, i % 2);
      writeNpy(path_, tensor);
      HostTensor back = readNpy(path_);
      ASSERT_EQ(back.type(), type);
      ASSERT_EQ(back.shape(), shape);
      for (int64_t i = 0; i < back.elements(); ++i)
        ASSERT_EQ(back.get(i), double(i % 2));
    }
  }
}

TEST_F(Npy, RefusesWhatItDoesNotUnderstand) {
  std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  write(good, "1234567");
  EXPECT_EQ(message(), "npy file is truncated: its data has 7 bytes, required 8");
  write("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }", "12345678");
  EXPECT_EQ(message(), "npy file is truncated: its shape is 99999999999x99999999999, its data has 8 bytes");
  write("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", "12345678");
  EXPECT_EQ(message(), "npy type is '<f8', required one of <f4 <f2 <i4 <i8 |b1 <V2 |V2");
  write("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "1234");
  EXPECT_EQ(message(), "npy array is in Fortran order, required C order");
  write("{'descr': '<f4', 'shape': (1,), }", "1234");
  EXPECT_EQ(message(), "npy header lacks one of the keys 'descr', 'fortran_order', 'shape'");
  write("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "1234");
  EXPECT_EQ(message(), "npy header is malformed: found '-1,), }\n', required an extent of at least 0");
  write("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'extra': 1}", "1234");
  EXPECT_EQ(message(), "npy header has unknown key 'extra'");
  write("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", std::string("\1\2", 2));
  EXPECT_EQ(message(), "npy bool element 1 is stored as 2, required 0 or 1");
  write(good, "12345678", 3);
  EXPECT_EQ(message(), "npy version is 3.0, required 1 or 2");
  std::ofstream(path_) << "PK\3\4 and so on";
  EXPECT_EQ(message(), "not an npy file: it does not start with \\x93NUMPY");
  std::ofstream(path_) << "\x93NUM";
  EXPECT_EQ(message(), "npy file is truncated: its magic has 4 bytes, required 8");
  std::filesystem::remove(path_);
  EXPECT_EQ(message(), "cannot be opened: No such file or directory");
}

TEST_F(Npy, EveryTruncationIsAnError) {
  write("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 1), }", "0123456789abcdef");
  std::ifstream file(path_, std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(file)), {});
  for (size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, length);
    EXPECT_THROW(readNpy(path_), Error) << length;
  }
}

} // namespace
