// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "file.h"

namespace tenon::fuzz {
namespace {

constexpr const char* kMark = "\"tenon.checksum\":\"";

// Bit by bit, and not the library's.
uint32_t crc_of(const std::string& bytes) {
  uint32_t crc = ~uint32_t{0};
  for (unsigned char c : bytes) {
    crc ^= c;
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

std::string length_of(uint64_t n) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(n >> (8 * i) & 0xff);
  return out;
}

std::string number(Random& r) {
  return r.pick<const char*>({"0",
                              "1",
                              "2",
                              "3",
                              "4",
                              "5",
                              "8",
                              "12",
                              "16",
                              "64",
                              "1024",
                              "-1",
                              "1.5",
                              "1e300",
                              "\"1\"",
                              "null",
                              "[]",
                              "{}",
                              "4294967296",
                              "2147483648",
                              "9223372036854775807",
                              "9223372036854775808",
                              "18446744073709551615",
                              "18446744073709551616",
                              "4611686018427387904",
                              "200000",
                              "1099511627776"});
}
std::string small(Random& r) { return std::to_string(r.below(r.chance(0.9) ? 5 : 40)); }

// Texts of the header between two positions that a character of `marks` begins or ends.
std::pair<std::size_t, std::size_t> piece(const std::string& text, const char* marks, Random& r) {
  const std::size_t from = text.find_first_of(marks, r.below(text.size() + 1));
  if (from == std::string::npos) return {0, 0};
  const std::size_t to = text.find_first_of(marks, from + 1);
  return {from, (to == std::string::npos ? text.size() : to) - from};
}

void change_header(std::string& header, Random& r) {
  if (header.empty()) return;
  switch (r.below(6)) {
    case 0: {  // a number
      const std::size_t from = header.find_first_of("0123456789", r.below(header.size()));
      if (from == std::string::npos) return;
      const std::size_t end = header.find_first_not_of("0123456789.", from);
      header.replace(from, end - from, r.chance(0.5) ? number(r) : small(r));
      return;
    }
    case 1: {  // one piece in another's place
      const char* marks = r.pick<const char*>({"\"", ",", "{}", "[]", ":"});
      const auto [from, size] = piece(header, marks, r);
      const auto [to, gone] = piece(header, marks, r);
      const std::string text = header.substr(from, size);
      header.replace(to, gone, text);
      return;
    }
    case 2: {  // a piece doubled or lost
      const auto [from, size] = piece(header, r.pick<const char*>({",", "{}", "\""}), r);
      const std::string text = header.substr(from, size);
      r.chance(0.5) ? header.insert(from, text) : header.erase(from, size);
      return;
    }
    case 3:
      header = scramble(header, r);
      return;
    case 4: {  // a word that means something
      const std::string word = r.pick<const char*>({"F64",
                                                    "BOOL",
                                                    "C64",
                                                    "of",
                                                    "offset",
                                                    "strides",
                                                    "shape",
                                                    "layout",
                                                    "sparse_coo",
                                                    "strided",
                                                    "components",
                                                    "flags",
                                                    "requires_grad",
                                                    "__metadata__",
                                                    "tenon.format",
                                                    "tenon.values",
                                                    "tenon.archives",
                                                    "tenon.storage.0",
                                                    "data_offsets",
                                                    "true",
                                                    "\\u0000",
                                                    "\\ud800"});
      const auto [from, size] = piece(header, "\"", r);
      if (size > 1) header.replace(from + 1, size - 1, word);
      return;
    }
    default: {  // depth
      const std::size_t n = r.below(r.chance(0.01) ? 100000 : 12);
      header.insert(r.below(header.size()), std::string(n, r.chance(0.5) ? '[' : '{'));
    }
  }
}

std::string list(Random& r, std::size_t n, const std::function<std::string()>& one) {
  std::string out = "[";
  for (std::size_t i = 0; i < n; ++i) out += (i ? "," : "") + one();
  (void)r;
  return out + "]";
}

struct StoredTensor {
  std::string name, dtype;
  std::vector<uint64_t> shape;
  uint64_t begin = 0, end = 0;
};

constexpr struct {
  const char* name;
  uint64_t bytes;
} kDtypes[] = {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) {#format, (bits) / 8},
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
};

std::string likely_list(Random& r, const std::vector<uint64_t>& numbers) {
  std::size_t i = 0;
  return list(r, numbers.size(), [&] {
    const std::string right = std::to_string(numbers[i++]);
    return r.chance(0.97) ? right : number(r);
  });
}

std::string name_of(Random& r, const std::vector<StoredTensor>& tensors) {
  if (tensors.empty() || r.chance(0.05))
    return r.pick<const char*>({"", "0", "a.b", "x", "tenon.storage.0"});
  return r.pick(tensors).name;
}

// The entry of one name in tenon.tensors.
std::string extra(Random& r, const std::vector<StoredTensor>& tensors) {
  const std::size_t rank = r.below(r.chance(0.98) ? 4 : 70);
  const auto numbers = [&] {
    return list(r, rank, [&] { return r.chance(0.95) ? small(r) : number(r); });
  };
  std::string out = "{";
  const auto add = [&](const std::string& key, const std::string& value) {
    if (r.chance(0.97)) out += (out.size() > 1 ? ",\"" : "\"") + key + "\":" + value;
  };
  switch (r.below(4)) {
    case 0:
      add("of", "\"" + name_of(r, tensors) + "\"");
      add("offset", r.chance(0.9) ? small(r) : number(r));
      add("shape", numbers());
      add("strides", numbers());
      break;
    case 1:
      add("strides", numbers());
      break;
    case 2:
      add("layout", r.chance(0.9) ? "\"sparse_coo\"" : "\"" + name_of(r, tensors) + "\"");
      add("shape", numbers());
      add("components", "{\"indices\":\"" + name_of(r, tensors) + "\",\"values\":\"" +
                            name_of(r, tensors) + "\"}");
      add("flags", r.chance(0.5) ? "[]" : "[\"coalesced\"]");
      break;
    default:
      break;
  }
  if (r.chance(0.3)) add("requires_grad", r.chance(0.8) ? "true" : number(r));
  return out + "}";
}

std::string value(Random& r) {
  const std::string kind =
      r.pick<const char*>({"double", "int", "bool", "string", "ints", "doubles", "none", "odd"});
  const std::string of = r.pick<const char*>({"1", "-1", "0.5", "true", "\"text\"", "\"nan\"",
                                              "[1,2]", "[0.5,\"inf\"]", "null", "[[1]]",
                                              "9223372036854775807", "18446744073709551615"});
  return "{\"" + kind + "\":" + of + "}";
}

// As a JSON string.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

}  // namespace

File File::split(const std::string& bytes) {
  uint64_t n = 0;
  for (std::size_t i = 8; i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[i]);
  return {bytes.substr(8, n), bytes.substr(8 + n)};
}

std::string File::whole() const {
  std::string out = length_of(header.size()) + header + data;
  const std::size_t at = header.find(kMark);
  if (at == std::string::npos || at + 8 + 18 + 8 > out.size()) return out;
  const std::size_t digits = 8 + at + std::string(kMark).size();
  if (digits + 8 > 8 + header.size()) return out;
  out.replace(digits, 8, "00000000");
  char text[9];
  std::snprintf(text, sizeof text, "%08x", crc_of(out));
  return out.replace(digits, 8, text);
}

std::string damage(File file, Random& r) {
  for (uint64_t k = r.chance(0.8) ? 1 : r.below(4); k > 0; --k) {
    if (r.chance(0.8))
      change_header(file.header, r);
    else
      file.data = scramble(file.data, r);
  }
  std::string bytes = file.whole();
  if (r.chance(0.05))
    bytes.replace(0, 8, length_of(r.chance(0.5) ? r.bits() : file.header.size() + r.below(9)));
  return r.chance(0.05) ? scramble(bytes, r) : bytes;
}

File invent(Random& r) {
  std::vector<StoredTensor> tensors;
  uint64_t at = 0;
  for (uint64_t n = r.below(5); n > 0; --n) {
    const auto& dtype = kDtypes[r.below(std::size(kDtypes))];
    StoredTensor t{
        r.chance(0.1) ? "tenon.storage.0" : std::to_string(tensors.size()), dtype.name, {}, at, 0};
    uint64_t bytes = dtype.bytes;
    for (uint64_t d = r.below(4); d > 0; --d) {
      t.shape.push_back(r.below(5));
      bytes *= t.shape.back();
    }
    at = t.end = at + bytes;
    tensors.push_back(t);
  }
  std::string extras, values, archives;
  for (uint64_t n = r.below(4); n > 0; --n) {
    const std::string name = r.chance(0.5) ? name_of(r, tensors) : "v" + std::to_string(n);
    extras += (extras.empty() ? "\"" : ",\"") + name + "\":" + extra(r, tensors);
  }
  for (uint64_t n = r.below(3); n > 0; --n) {
    values += (values.empty() ? "\"k" : ",\"k") + std::to_string(n) + "\":" + value(r);
  }
  File out;
  out.header = "{\"__metadata__\":{\"tenon.checksum\":\"00000000\",\"tenon.format\":\"1\"";
  if (!extras.empty()) out.header += ",\"tenon.tensors\":" + quoted("{" + extras + "}");
  if (!values.empty()) out.header += ",\"tenon.values\":" + quoted("{" + values + "}");
  if (r.chance(0.2))
    out.header +=
        ",\"tenon.archives\":" + quoted(r.pick<const char*>({"[]", "[\"a\"]", "[1]", "{}", "["}));
  out.header += "}";
  for (const StoredTensor& t : tensors) {
    out.header += ",\"" + t.name + "\":{\"dtype\":\"" + (r.chance(0.99) ? t.dtype : "F8_E4M3") +
                  "\",\"shape\":" + likely_list(r, t.shape) +
                  ",\"data_offsets\":" + likely_list(r, {t.begin, t.end}) + "}";
  }
  out.header += "}";
  for (uint64_t i = 0; i < at; ++i)
    out.data += static_cast<char>(r.chance(0.7) ? r.below(4) : r.bits());
  return out;
}

}  // namespace tenon::fuzz
