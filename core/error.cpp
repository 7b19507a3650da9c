// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/error.h"

#include <charconv>

#include "tenon/core/array_ref.h"

namespace tenon {

void Error::add_context(std::string_view where) {
  std::string longer;
  longer.reserve(where.size() + 2 + message_.size());
  longer.append(where).append(": ").append(message_);
  message_ = std::move(longer);
}

namespace core {

void throw_error(tn_status code, std::string message) {
  switch (code) {
    case TN_ERROR_INDEX:
      throw IndexError(std::move(message));
    case TN_ERROR_TYPE:
      throw TypeError(std::move(message));
    case TN_ERROR_VALUE:
      throw ValueError(std::move(message));
    case TN_DECLINED:
    case TN_ERROR_UNSUPPORTED:
      throw NotImplementedError(std::move(message));
    case TN_ERROR_MEMORY:
      throw OutOfMemoryError(std::move(message));
    case TN_NO_DEVICE:
    case TN_ERROR_BACKEND:
      throw BackendError(std::move(message));
    default:
      throw Error(std::move(message));
  }
}

std::string text(std::string_view v) { return std::string(v); }

// The shortest digits that read back as the same number; those of a float where the value is one.
std::string text(double v) {
  char buffer[32];
  float narrow = static_cast<float>(v);
  auto end = static_cast<double>(narrow) == v ? std::to_chars(buffer, buffer + sizeof buffer, narrow).ptr
                                              : std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  return std::string(buffer, end);
}

std::string text(long long v) { return std::to_string(v); }
std::string text(unsigned long long v) { return std::to_string(v); }

std::string text(IntArrayRef v) {
  std::string out = "[";
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (i != 0) out += ", ";
    out += std::to_string(v[i]);
  }
  return out += ']';
}

}  // namespace core
}  // namespace tenon
