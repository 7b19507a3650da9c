// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Messages from bytes that nobody vouches for.
#pragma once

#include <string_view>

#include "onnx/proto/model.pb.h"

namespace tenon::onnx {

// Graphs nest in attributes: one level of these is three of messages.
inline constexpr int kMaxMessageDepth = 200;

// ValueError if the bytes are no message of this kind, nest too deeply or are more than 2 GiB, the
// limit of the format. `what` begins the message: "model.onnx".
void parse_message(std::string_view bytes, google::protobuf::MessageLite& into,
                   std::string_view what);

// Whether a file that begins like this may be a model.
bool looks_like_model(std::string_view head) noexcept;

}  // namespace tenon::onnx
