// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The format, of numpy.lib.format:
//   6 bytes       "\x93NUMPY"
//   2 bytes       version: 1.0, 2.0 or 3.0
//   2 or 4 bytes  length of the header, little-endian: 2 in version 1.0
//   header        a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//   data          the elements
#include "tenon/npy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <iterator>
#include <ostream>
#include <string_view>
#include <system_error>
#include <vector>

#include "file_writer.h"
#include "protobuf.h"
#include "tenon/autograd.h"
#include "tenon/core/geometry.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  // of the data in the file
constexpr std::size_t kMaxDimensions = 64;

struct Format {
  std::string_view code;  // kind and bytes
  ScalarType dtype;
};
constexpr Format kFormats[] = {
    {"b1", kBool},   {"u1", kByte},         {"i1", kChar},           {"i2", kShort},
    {"i4", kInt},    {"i8", kLong},         {"f2", kHalf},           {"f4", kFloat},
    {"f8", kDouble}, {"c8", kComplexFloat}, {"c16", kComplexDouble}, {"u2", kUInt16},
    {"u4", kUInt32}, {"u8", kUInt64},
};

std::string header_of(const Tensor& t) {
  const auto found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                  [&](const Format& f) { return f.dtype == t.scalar_type(); });
  TENON_CHECK(found != std::end(kFormats), TypeError, "save_npy: NumPy has no dtype ",
              toString(t.scalar_type()), "; convert the tensor, to float32 for example");
  const char order = found->code.back() == '1' ? '|' : '<';
  std::string text =
      core::join("{'descr': '", order, found->code, "', 'fortran_order': False, 'shape': (");
  for (int64_t i = 0; i < t.dim(); ++i) text += core::join(i ? " " : "", t.size(i), ",");
  if (t.dim() > 1) text.pop_back();
  text += "), }";
  const std::size_t before = kMagic.size() + 4;
  text.append((kAlignment - (before + text.size() + 1) % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string out(kMagic);
  out += std::string_view("\1\0", 2);
  io::put_little_endian(out, text.size(), 2);
  return out + text;
}

template <class Put>
void write(const Tensor& tensor, Put&& put) {
  TENON_CHECK(tensor.defined(), ValueError, "save_npy: the tensor is undefined");
  NoGradGuard no_grad;
  const std::string header = header_of(tensor);
  const Tensor t = tensor.detach().to(kCPU).contiguous();
  put(header.data(), header.size());
  if (t.numel() > 0) put(t.const_data_ptr(), t.nbytes());
}

// The dictionary of the header: strings, True, False and tuples of integers.
class Header {
 public:
  Header(std::string_view text, const std::string& name) : rest_(text), name_(name) { parse(); }

  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;

 private:
  template <class... Parts>
  void check(bool ok, const Parts&... parts) const {
    if (!ok) throw ValueError(core::join("load_npy: ", name_, ": ", parts...));
  }
  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }
  bool take(std::string_view word) {
    skip_spaces();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    check(take(word), "expected ", word, " in the header at '", rest_.substr(0, 20), "'");
  }
  std::string read_string() {
    skip_spaces();
    check(!rest_.empty() && (rest_.front() == '\'' || rest_.front() == '"'),
          "the header has no string at '", rest_.substr(0, 20),
          "'; arrays of records are not supported");
    const auto end = rest_.find(rest_.front(), 1);
    check(end != std::string_view::npos, "a string in the header has no end");
    std::string out(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return out;
  }
  bool read_bool() {
    if (take("True")) return true;
    expect("False");
    return false;
  }
  int64_t read_integer() {
    skip_spaces();
    int64_t value = 0;
    std::size_t digits = 0;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; ++digits) {
      check(digits < 18, "a size in the header is too large");
      value = 10 * value + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    check(digits > 0, "expected a size in the header at '", rest_.substr(0, 20), "'");
    return value;
  }
  void read_shape() {
    expect("(");
    while (!take(")")) {
      check(shape.size() < kMaxDimensions, "the array has more than ", kMaxDimensions,
            " dimensions");
      shape.push_back(read_integer());
      if (!take(",")) {
        expect(")");
        break;
      }
    }
  }
  void parse() {
    int found = 0;
    expect("{");
    while (!take("}")) {
      const std::string key = read_string();
      expect(":");
      if (key == "descr") {
        descr = read_string();
      } else if (key == "fortran_order") {
        fortran_order = read_bool();
      } else {
        check(key == "shape", "unknown key '", key, "' in the header");
        read_shape();
      }
      ++found;
      if (!take(",")) {
        expect("}");
        break;
      }
    }
    check(found == 3 && !descr.empty(), "the header lacks descr, fortran_order or shape");
  }

  std::string_view rest_;
  const std::string& name_;
};

ScalarType dtype_of(const std::string& descr, const std::string& name) {
  const std::string_view code = std::string_view(descr).substr(1);
  for (const Format& f : kFormats) {
    if (f.code == code && std::string_view("<>|=").find(descr[0]) != std::string_view::npos)
      return f.dtype;
  }
  throw TypeError(core::join("load_npy: ", name, ": the dtype '", descr, "' has no counterpart"));
}

// Halves of complex numbers are swapped each for itself.
void reverse_bytes(char* data, std::size_t bytes, std::size_t item) {
  for (std::size_t i = 0; i + item <= bytes; i += item) std::reverse(data + i, data + i + item);
}

Tensor read(std::string_view bytes, const std::string& name) {
  const auto check = [&](bool ok, const char* what) {
    if (!ok) throw ValueError(core::join("load_npy: ", name, ": ", what));
  };
  const auto number = [&](std::size_t at, std::size_t n) {
    std::size_t v = 0;
    for (std::size_t i = n; i-- > 0;) v = v << 8 | static_cast<uint8_t>(bytes[at + i]);
    return v;
  };
  check(bytes.size() >= kMagic.size() + 4 && bytes.substr(0, kMagic.size()) == kMagic,
        "is not a .npy file");
  const std::size_t version = number(kMagic.size(), 1);
  check(version >= 1 && version <= 3, "has a version other than 1, 2 and 3");
  const std::size_t width = version == 1 ? 2 : 4, header_at = kMagic.size() + 2 + width;
  check(bytes.size() >= header_at, "ends within its header");
  const std::size_t length = number(kMagic.size() + 2, width);
  check(length <= bytes.size() - header_at, "ends within its header");
  const Header header(bytes.substr(header_at, length), name);
  const std::string_view data = bytes.substr(header_at + length);

  const ScalarType dtype = dtype_of(header.descr, name);
  const std::vector<int64_t>& shape = header.shape;
  const int64_t numel =
      core::checked_numel("load_npy", static_cast<int>(shape.size()), shape.data());
  const std::size_t item = elementSize(dtype);
  TENON_CHECK(data.size() / item == static_cast<std::size_t>(numel) && data.size() % item == 0,
              ValueError, "load_npy: ", name, ": has ", data.size(), " bytes of data, but ", numel,
              " elements of ", item, " bytes");
  std::vector<int64_t> sizes = shape;
  if (header.fortran_order) std::reverse(sizes.begin(), sizes.end());
  Tensor out = tenon::empty(sizes, dtype);
  if (numel > 0) {
    std::memcpy(out.data_ptr(), data.data(), data.size());
    if (header.descr[0] == '>') {
      reverse_bytes(static_cast<char*>(out.data_ptr()), data.size(),
                    isComplexType(dtype) ? item / 2 : item);
    }
  }
  if (!header.fortran_order || shape.size() < 2) return out;
  std::vector<int64_t> order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int64_t>(order.size() - 1 - i);
  }
  return out.permute(order);
}

}  // namespace

void save_npy(const Tensor& tensor, const std::string& filename) {
  serialize::detail::FileWriter file(filename);
  write(tensor, [&](const void* data, std::size_t bytes) { file.write(data, bytes); });
  file.commit();
}

void save_npy(const Tensor& tensor, std::ostream& stream) {
  write(tensor, [&](const void* data, std::size_t bytes) {
    stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    TENON_CHECK(stream.good(), ValueError, "save_npy: the stream refuses to take ", bytes,
                " bytes");
  });
}

Tensor load_npy(const void* bytes, std::size_t size, const std::string& name) {
  return read({static_cast<const char*>(bytes), size}, name);
}

Tensor load_npy(std::istream& stream) {
  const std::string bytes((std::istreambuf_iterator<char>(stream)),
                          std::istreambuf_iterator<char>());
  TENON_CHECK(!stream.bad(), ValueError, "load_npy: error while reading the stream");
  return read(bytes, "the stream");
}

Tensor load_npy(const std::string& filename) {
  errno = 0;
  std::ifstream in(filename, std::ios::binary);
  TENON_CHECK(in.good(), ValueError, "load_npy: cannot open '", filename,
              "': ", std::generic_category().message(errno));
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  TENON_CHECK(!in.bad(), ValueError, "load_npy: error while reading '", filename, "'");
  return read(bytes, "'" + filename + "'");
}

}  // namespace tenon
