#include "runtime/tensor/Npy.h"

#include "runtime/Error.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace evt::runtime {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct Descr {
  std::string_view text;
  DataType type;
};
// The first entry of a type is the one written.
constexpr std::array<Descr, 7> descrs = {{{"<f4", DataType::f32},
                                          {"<f2", DataType::f16},
                                          {"<i4", DataType::i32},
                                          {"<i8", DataType::i64},
                                          {"|b1", DataType::i1},
                                          {"<V2", DataType::bf16},
                                          {"|V2", DataType::bf16}}};

[[noreturn]] void malformed(const std::string &path, const std::string &what) {
  throw Error(EVT_ERROR_ARGUMENT, path + ": " + what);
}

// Reads the header, a Python dictionary literal with exactly the keys descr, fortran_order and shape.
class HeaderParser {
public:
  HeaderParser(const std::string &path, std::string_view text) : path_(path), rest_(text) {}

  struct Header {
    std::string descr;
    bool fortranOrder = false;
    std::vector<int64_t> shape;
  };

  Header parse() {
    Header header;
    bool sawDescr = false, sawOrder = false, sawShape = false;
    expect("{");
    while (!take("}")) {
      std::string key = quoted();
      expect(":");
      if (key == "descr") {
        header.descr = quoted();
        sawDescr = true;
      } else if (key == "fortran_order") {
        header.fortranOrder = take("True");
        if (!header.fortranOrder)
          expect("False");
        sawOrder = true;
      } else if (key == "shape") {
        header.shape = tuple();
        sawShape = true;
      } else {
        malformed(path_, "npy header has unknown key '" + key + "'");
      }
      if (!take(",")) {
        expect("}");
        break;
      }
    }
    if (!sawDescr || !sawOrder || !sawShape)
      malformed(path_, "npy header lacks one of the keys 'descr', 'fortran_order', 'shape'");
    return header;
  }

private:
  void skipSpace() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n'))
      rest_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skipSpace();
    if (!rest_.starts_with(token))
      return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token))
      malformed(path_, "npy header is malformed: found '" + std::string(rest_.substr(0, 12)) + "', required '" +
                           std::string(token) + "'");
  }
  std::string quoted() {
    expect("'");
    size_t end = rest_.find('\'');
    if (end == std::string_view::npos)
      malformed(path_, "npy header is malformed: a string has no end");
    std::string value(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return value;
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> values;
    expect("(");
    while (!take(")")) {
      skipSpace();
      int64_t value = 0;
      auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (error != std::errc() || value < 0)
        malformed(path_, "npy header is malformed: found '" + std::string(rest_.substr(0, 12)) +
                             "', required an extent of at least 0");
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      values.push_back(value);
      if (!take(",")) {
        expect(")");
        break;
      }
    }
    return values;
  }

  const std::string &path_;
  std::string_view rest_;
};

void readExactly(std::ifstream &file, const std::string &path, void *into, size_t bytes, const char *what) {
  file.read(static_cast<char *>(into), static_cast<std::streamsize>(bytes));
  size_t found = static_cast<size_t>(file.gcount());
  if (found != bytes)
    malformed(path, std::string("npy file is truncated: its ") + what + " has " + std::to_string(found) +
                        " bytes, required " + std::to_string(bytes));
}

} // namespace

HostTensor readNpy(const std::string &path) {
  std::error_code error; // of a file that is not there: opening it says so
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    throw Error(EVT_ERROR_FILE, path + ": is not a regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error(EVT_ERROR_FILE, path + ": cannot be opened: " + std::strerror(errno));
  file.seekg(0, std::ios::end);
  int64_t fileBytes = file.tellg();
  file.seekg(0);
  std::array<char, 8> start{};
  readExactly(file, path, start.data(), start.size(), "magic");
  if (std::string_view(start.data(), magic.size()) != magic)
    malformed(path, "not an npy file: it does not start with \\x93NUMPY");
  int major = static_cast<uint8_t>(start[6]), minor = static_cast<uint8_t>(start[7]);
  if (major < 1 || major > 2)
    malformed(path, "npy version is " + std::to_string(major) + "." + std::to_string(minor) + ", required 1 or 2");

  std::array<uint8_t, 4> length{};
  readExactly(file, path, length.data(), major == 1 ? 2 : 4, "header length");
  size_t headerBytes = length[0] | (length[1] << 8) | (length[2] << 16) | (static_cast<size_t>(length[3]) << 24);
  if (static_cast<int64_t>(headerBytes) > fileBytes)
    malformed(path, "npy file is truncated: its header has " + std::to_string(headerBytes) + " bytes, the file " +
                        std::to_string(fileBytes));
  std::string text(headerBytes, '\0');
  readExactly(file, path, text.data(), headerBytes, "header");
  auto header = HeaderParser(path, text).parse();
  if (header.fortranOrder)
    malformed(path, "npy array is in Fortran order, required C order");

  for (const Descr &descr : descrs) {
    if (descr.text != header.descr)
      continue;
    // Checked against the file's size before anything is allocated: an altered shape must not exhaust memory.
    int64_t elements = 1;
    bool overflow = false;
    for (int64_t extent : header.shape)
      overflow |= __builtin_mul_overflow(elements, extent, &elements);
    int64_t available = fileBytes - file.tellg();
    if (overflow || elements > available)
      malformed(path, "npy file is truncated: its shape is " + describeShape(header.shape) + ", its data has " +
                          std::to_string(available) + " bytes");
    HostTensor tensor(descr.type, header.shape);
    readExactly(file, path, tensor.data(), tensor.bytes(), "data");
    if (descr.type == DataType::i1)
      for (int64_t i = 0; i < tensor.elements(); ++i)
        if (tensor.getInteger(i) > 1)
          malformed(path, "npy bool element " + std::to_string(i) + " is stored as " +
                              std::to_string(tensor.getInteger(i)) + ", required 0 or 1");
    return tensor;
  }
  std::string known;
  for (const Descr &descr : descrs)
    known += (known.empty() ? "" : " ") + std::string(descr.text);
  malformed(path, "npy type is '" + header.descr + "', required one of " + known);
}

void writeNpy(std::ostream &out, const HostTensor &tensor) {
  std::string header = "{'descr': '";
  for (const Descr &descr : descrs)
    if (descr.type == tensor.type()) {
      header += descr.text;
      break;
    }
  header += "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : tensor.shape())
    header += std::to_string(extent) + ", ";
  if (tensor.shape().size() > 1)
    header.resize(header.size() - 2); // only a tuple of one keeps its comma
  else if (!tensor.shape().empty())
    header.resize(header.size() - 1);
  header += "), }";
  // Data starts at a multiple of 64, after the 10 bytes before the header and its closing newline.
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';

  out << magic << '\x01' << '\x00' << static_cast<char>(header.size() & 0xff) << static_cast<char>(header.size() >> 8)
      << header;
  out.write(static_cast<const char *>(tensor.data()), static_cast<std::streamsize>(tensor.bytes()));
}

void writeNpy(const std::string &path, const HostTensor &tensor) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file)
    throw Error(EVT_ERROR_FILE, path + ": cannot be created: " + std::strerror(errno));
  writeNpy(file, tensor);
  file.close();
  if (!file)
    throw Error(EVT_ERROR_FILE, path + ": cannot be written: " + std::strerror(errno));
}

} // namespace evt::runtime
