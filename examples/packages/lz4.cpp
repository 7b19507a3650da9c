// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "lz4.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace packages {
namespace {

constexpr uint32_t kFrame = 0x184D2204, kSkipped = 0x184D2A50;  // the last nibble of the latter is free
constexpr std::size_t kMaxBlock = std::size_t{4} << 20;         // that a frame may declare

// Takes bytes off the front; never reads behind the end.
struct Reader {
  std::string_view rest;

  std::string_view take(std::size_t n) {
    if (n > rest.size()) throw std::runtime_error("is cut short inside its lz4 data");
    std::string_view taken = rest.substr(0, n);
    rest.remove_prefix(n);
    return taken;
  }
  uint32_t little_endian(std::size_t n) {
    std::string_view bytes = take(n);
    uint32_t v = 0;
    for (std::size_t i = n; i > 0; --i) v = v << 8 | static_cast<unsigned char>(bytes[i - 1]);
    return v;
  }
  // A nibble of a token, which goes on in bytes where it is full.
  std::size_t length(uint32_t nibble) {
    std::size_t n = nibble;
    if (nibble < 15) return n;
    uint32_t more = 255;
    while (more == 255) n += more = little_endian(1);
    return n;
  }
};

void repeat(std::string& out, std::size_t back, std::size_t n, std::size_t most) {
  if (back == 0 || back > out.size()) throw std::runtime_error("is damaged: its lz4 data points outside of itself");
  if (n > most - out.size()) throw std::runtime_error("unpacks to more than a block may hold");
  // The copy may overlap what it writes, which repeats it.
  for (std::size_t from = out.size() - back; n > 0; --n) out.push_back(out[from++]);
}

void unpack_block(std::string_view block, std::string& out, std::size_t most) {
  for (Reader in{block}; !in.rest.empty();) {
    uint32_t token = in.little_endian(1);
    std::string_view literals = in.take(in.length(token >> 4));
    if (literals.size() > most - out.size()) throw std::runtime_error("unpacks to more than a block may hold");
    out.append(literals);
    if (in.rest.empty()) return;  // the last sequence of a block has literals alone
    std::size_t back = in.little_endian(2);
    repeat(out, back, in.length(token & 15) + 4, most);
  }
}

void unpack_frame(Reader& in, std::string& out, std::size_t most) {
  uint32_t flags = in.little_endian(1);
  in.take(1);
  if (flags >> 6 != 1) throw std::runtime_error("is of a version of lz4 that is not known here");
  if (flags & 1) throw std::runtime_error("needs a dictionary of lz4; unpack it first (lz4 -d)");
  in.take((flags & 8 ? 8 : 0) + 1);  // content size, header checksum
  while (uint32_t head = in.little_endian(4)) {
    std::string_view block = in.take(head & 0x7fffffff);
    if (out.size() + std::min(block.size(), kMaxBlock) > most)
      throw std::runtime_error("is larger than " + std::to_string(most >> 20) + " MiB unpacked");
    if (head >> 31) {
      out.append(block.substr(0, kMaxBlock));
    } else {
      unpack_block(block, out, std::min(most, out.size() + kMaxBlock));
    }
    in.take(flags & 16 ? 4 : 0);
  }
  in.take(flags & 4 ? 4 : 0);
}

}  // namespace

bool is_lz4(std::string_view bytes) { return bytes.size() >= 4 && Reader{bytes}.little_endian(4) == kFrame; }

std::string unpack_lz4(std::string_view bytes, std::size_t most) {
  std::string out;
  for (Reader in{bytes}; !in.rest.empty();) {
    uint32_t magic = in.little_endian(4);
    if (magic == kFrame) {
      unpack_frame(in, out, most);
    } else if ((magic & ~15u) == kSkipped) {
      in.take(in.little_endian(4));
    } else {
      throw std::runtime_error("is damaged: an lz4 frame was expected");
    }
  }
  return out;
}

}  // namespace packages
