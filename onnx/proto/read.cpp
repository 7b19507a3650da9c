// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/proto/read.h"

#include <google/protobuf/io/coded_stream.h>

#include <limits>

#include "tenon/runtime/error.h"

namespace tenon::onnx {

void parse_message(std::string_view bytes, google::protobuf::MessageLite& into,
                   std::string_view what) {
  TENON_CHECK(bytes.size() <= std::size_t{std::numeric_limits<int32_t>::max()}, ValueError, what,
              ": it has ", bytes.size(),
              " bytes, and a message is at most 2 GiB; keep large tensors in external data");
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  in.SetRecursionLimit(kMaxMessageDepth);
  TENON_CHECK(into.ParsePartialFromCodedStream(&in) && in.ConsumedEntireMessage(), ValueError, what,
              ": it is damaged, or no ONNX: the bytes are not a message of protobuf, or nest ",
              "deeper than ", kMaxMessageDepth);
}

// The fields of a ModelProto that may come first: ir_version (writers put it there), the others in
// the order of their numbers.
bool looks_like_model(std::string_view head) noexcept {
  if (head.size() < 2) return false;
  const auto first = static_cast<unsigned char>(head[0]);
  const auto second = static_cast<unsigned char>(head[1]);
  if (first == 0x08) return second <= 0x7f && head.size() > 2;
  return first == 0x12 || first == 0x1a || first == 0x22 || first == 0x3a || first == 0x42;
}

}  // namespace tenon::onnx
