// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/error.h"

#include <charconv>
#include <new>
#include <stdexcept>

namespace tenon {

namespace {

std::string_view base_of(std::string_view op) {
  op = op.substr(0, op.find_first_of(".: ("));
  return op.size() > 1 && op.back() == '_' ? op.substr(0, op.size() - 1) : op;
}

}  // namespace

void Error::set_called(std::string_view op) {
  const std::string_view own = std::string_view(message_).substr(called_);
  const std::size_t colon = own.find(": ");
  const bool names_one = colon != own.npos && own.find(' ') > colon;
  const bool names_this = names_one && base_of(own) == base_of(op);
  std::string longer = names_this ? std::string() : core::join(op, names_one ? ": in " : ": ");
  const std::size_t called = longer.size();
  longer += own;
  message_ = std::move(longer);
  called_ = called;
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

void rethrow_called(std::string_view op) {
  try {
    throw;
  } catch (Error& e) {
    e.set_called(op);
    throw;
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(join(op, ": out of memory"));
  } catch (const std::length_error&) {  // of a standard container: beyond what memory could hold
    throw OutOfMemoryError(join(op, ": out of memory"));
  }
}

std::string text(std::string_view v) { return std::string(v); }

// The shortest digits that read back as the same number; those of a float where the value is one.
std::string text(double v) {
  char buffer[32];
  float narrow = static_cast<float>(v);
  auto end = static_cast<double>(narrow) == v
                 ? std::to_chars(buffer, buffer + sizeof buffer, narrow).ptr
                 : std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  return std::string(buffer, end);
}

std::string text(long long v) { return std::to_string(v); }
std::string text(unsigned long long v) { return std::to_string(v); }

}  // namespace core
}  // namespace tenon
