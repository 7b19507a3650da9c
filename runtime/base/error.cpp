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

// libtorch writes "linalg.inv" and "torch.linalg.solve" of linalg_inv and linalg_solve.
bool names_same(std::string_view own, std::string_view op) {
  constexpr std::string_view kTorch = "torch.", kDotted = "linalg.", kPrefix = "linalg_";
  if (own.substr(0, kTorch.size()) == kTorch) own.remove_prefix(kTorch.size());
  if (own.substr(0, kDotted.size()) != kDotted || op.substr(0, kPrefix.size()) != kPrefix)
    return base_of(own) == base_of(op);
  return base_of(own.substr(kDotted.size())) == base_of(op.substr(kPrefix.size()));
}

}  // namespace

void Error::set_called(std::string_view op, std::string_view shapes) {
  op_ = op;
  // By name and then by its function: one call.
  if (called_ > op.size() &&
      std::string_view(message_).substr(0, op.size() + 1) == core::join(op, ":"))
    return;
  const std::string_view own =
      std::string_view(message_).substr(called_, message_.size() - called_ - given_);
  const std::size_t colon = own.find(": ");
  const bool names_one = colon != own.npos && own.find(' ') > colon;
  const bool names_this = names_one && names_same(own, op);
  std::string longer = names_this ? std::string() : core::join(op, names_one ? ": in " : ": ");
  const std::size_t called = longer.size();
  longer += own;
  const std::size_t end = longer.size();
  const bool of_shapes = code_ == TN_ERROR_VALUE || code_ == TN_ERROR_INDEX;
  if (of_shapes && !names_this && names_one && !shapes.empty())
    longer += core::join("; called with ", shapes);
  given_ = longer.size() - end;
  message_ = std::move(longer);
  called_ = called;
  write_context();
}

void Error::add_context(std::string text) {
  context_.push_back(std::move(text));
  write_context();
}

void Error::write_context() {
  if (context_.empty()) return;
  with_context_ = message_;
  if (context_.size() == 1)
    with_context_ += core::join(" (", context_[0], ")");
  else
    for (const std::string& text : context_) with_context_ += core::join("\n  ", text);
}

namespace core {

void throw_error(tn_status code, std::string message, SourceSite site) {
  switch (code) {
    case TN_ERROR_INDEX:
      throw IndexError(std::move(message), site);
    case TN_ERROR_TYPE:
      throw TypeError(std::move(message), site);
    case TN_ERROR_VALUE:
      throw ValueError(std::move(message), site);
    case TN_DECLINED:
    case TN_ERROR_UNSUPPORTED:
      throw NotImplementedError(std::move(message), site);
    case TN_ERROR_MEMORY:
      throw OutOfMemoryError(std::move(message), site);
    case TN_NO_DEVICE:
    case TN_ERROR_BACKEND:
      throw BackendError(std::move(message), site);
    default:
      throw Error(std::move(message), TN_ERROR, site);
  }
}

namespace {

[[noreturn]] void throw_out_of_memory(std::string_view op) {
  throw_of(op, OutOfMemoryError(join(op, ": out of memory")));
}

}  // namespace

void rethrow_called(std::string_view op, std::string_view shapes) {
  try {
    throw;
  } catch (Error& e) {
    e.set_called(op, shapes);
    throw;
  } catch (const std::bad_alloc&) {
    throw_out_of_memory(op);
  } catch (const std::length_error&) {  // of a standard container: beyond what memory could hold
    throw_out_of_memory(op);
  }
}

namespace {

template <class Number>
void append(std::string& out, Number v) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
}

void append_list(std::string& out, const std::int64_t* v, std::size_t size) {
  out += '[';
  for (std::size_t i = 0; i < size; ++i) {
    if (i != 0) out += ", ";
    append(out, v[i]);
  }
  out += ']';
}

}  // namespace

void MessagePart::append_to(std::string& out) const {
  const std::size_t size = how_ >> 3;
  switch (how_ & 7) {
    case Chars:
      out.append(chars_, size);
      break;
    case Integer:
      append(out, integer_);
      break;
    case Unsigned:
      append(out, unsigned_);
      break;
    case Double:  // the digits of a float where the value is one
      if (const auto narrow = static_cast<float>(double_); double{narrow} == double_) {
        append(out, narrow);
      } else {
        append(out, double_);
      }
      break;
    case Char:
      out += static_cast<char>(integer_);
      break;
    case Integers:
      append_list(out, integers_, size);
      break;
  }
}

std::string join(std::initializer_list<MessagePart> parts) {
  std::string out;
  for (const MessagePart& part : parts) part.append_to(out);
  return out;
}

template void throw_parts<Error>(std::initializer_list<MessagePart>, SourceSite);
template void throw_parts<IndexError>(std::initializer_list<MessagePart>, SourceSite);
template void throw_parts<TypeError>(std::initializer_list<MessagePart>, SourceSite);
template void throw_parts<ValueError>(std::initializer_list<MessagePart>, SourceSite);
template void throw_parts<NotImplementedError>(std::initializer_list<MessagePart>, SourceSite);
template void throw_parts<OutOfMemoryError>(std::initializer_list<MessagePart>, SourceSite);
template void throw_parts<BackendError>(std::initializer_list<MessagePart>, SourceSite);
template void throw_parts<LinAlgError>(std::initializer_list<MessagePart>, SourceSite);

}  // namespace core
}  // namespace tenon
