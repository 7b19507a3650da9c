// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// at::for_blob: memory of the caller's as a tensor, told one thing after the other.
#pragma once

#include <c10/util/OptionalArrayRef.h>
#include <torch/namespaces.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "tenon/creation.h"
#include "tenon/ops.h"

namespace at {

// The sizes and strides that it is given must live until make_tensor().
class TensorMaker {
 public:
  using ContextDeleter = void (*)(void*);

  TensorMaker(void* data, IntArrayRef sizes) noexcept : data_(data), sizes_(sizes) {}
  TensorMaker& strides(OptionalIntArrayRef value) noexcept {
    strides_ = value;
    return *this;
  }
  // In elements, from `data`, where the storage begins.
  TensorMaker& storage_offset(std::optional<int64_t> value) noexcept {
    storage_offset_ = value;
    return *this;
  }
  // Called with `data` when no tensor refers to it any more.
  TensorMaker& deleter(std::function<void(void*)> value) noexcept {
    deleter_ = std::move(value);
    return *this;
  }
  // The same, of an object that the memory belongs to; called with `value`.
  TensorMaker& context(void* value, ContextDeleter deleter = nullptr) noexcept {
    context_ = std::shared_ptr<void>(
        value, deleter ? deleter : [](void*) {});
    return *this;
  }
  TensorMaker& target_device(std::optional<Device> value) noexcept {
    device_ = value;
    return *this;
  }
  TensorMaker& options(TensorOptions value) noexcept {
    options_ = value;
    return *this;
  }

  // ValueError for a deleter and a context at once.
  Tensor make_tensor() {
    TENON_CHECK(!deleter_ || !context_, ValueError,
                "for_blob: a deleter and a context cannot both be given");
    const TensorOptions options = device_ ? options_.device(*device_) : options_;
    if (!storage_offset_) return made(sizes_, strides_ ? *strides_ : IntArrayRef(), options);
    const std::vector<int64_t> strides = strides_ ? strides_->vec() : row_major();
    const int64_t length = *storage_offset_ + span(strides);
    const Tensor whole = made(length, IntArrayRef(), options);
    ::tenon::NoGradGuard no_grad;
    Tensor part = ::tenon::empty({0}, options.requires_grad(false));
    part.set_(whole.storage(), *storage_offset_, sizes_, strides);
    return part.set_requires_grad(options.requires_grad());
  }

 private:
  Tensor made(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
    if (!deleter_ && !context_) {
      return strides.empty() ? ::tenon::from_blob(data_, sizes, options)
                             : ::tenon::from_blob(data_, sizes, strides, options);
    }
    auto end = [deleter = std::move(deleter_), context = std::move(context_)](void* data) {
      if (deleter) deleter(data);
    };
    return ::tenon::from_blob(data_, sizes, strides, std::move(end), options);
  }
  std::vector<int64_t> row_major() const {
    std::vector<int64_t> strides(sizes_.size(), 1);
    for (std::size_t d = sizes_.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes_[d];
    return strides;
  }
  // Elements between the first and the last one, both counted.
  int64_t span(const std::vector<int64_t>& strides) const {
    int64_t last = 0;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      if (sizes_[d] == 0) return 0;
      last += (sizes_[d] - 1) * strides[d];
    }
    return last + 1;
  }

  void* data_;
  IntArrayRef sizes_;
  OptionalIntArrayRef strides_;
  std::optional<int64_t> storage_offset_;
  std::function<void(void*)> deleter_;
  std::shared_ptr<void> context_;
  std::optional<Device> device_;
  TensorOptions options_;
};

inline TensorMaker for_blob(void* data, IntArrayRef sizes) noexcept { return {data, sizes}; }

}  // namespace at
