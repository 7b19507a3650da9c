// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "lz4.h"

#include <lz4frame.h>

#include <memory>
#include <stdexcept>

namespace packages {
namespace {

using Context = std::unique_ptr<LZ4F_dctx, decltype(&LZ4F_freeDecompressionContext)>;

Context make_context() {
  LZ4F_dctx* made = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION))) throw std::bad_alloc();
  return {made, LZ4F_freeDecompressionContext};
}

}  // namespace

bool is_lz4(std::string_view bytes) { return bytes.substr(0, 4) == "\x04\x22\x4d\x18"; }

std::string unpack_lz4(std::string_view bytes, std::size_t max_bytes) {
  const Context context = make_context();
  std::string out, block(1 << 16, '\0');
  std::size_t wanted = 0;  // bytes that complete the frame: 0 between frames
  while (!bytes.empty() || wanted != 0) {
    std::size_t took = bytes.size(), gave = block.size();
    wanted = LZ4F_decompress(context.get(), block.data(), &gave, bytes.data(), &took, nullptr);
    if (LZ4F_isError(wanted))
      throw std::runtime_error(std::string("is damaged: lz4 says ") + LZ4F_getErrorName(wanted));
    if (took == 0 && gave == 0 && wanted != 0)
      throw std::runtime_error("is cut short inside its lz4 data");
    if (gave > max_bytes - out.size())
      throw std::runtime_error("is larger unpacked than any list of packages");
    out.append(block, 0, gave);
    bytes.remove_prefix(took);
  }
  return out;
}

}  // namespace packages
