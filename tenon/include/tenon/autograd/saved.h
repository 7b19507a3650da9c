// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a node keeps of its call. A tensor is kept with its version: a write before the gradient is
// computed is an error, not a wrong result.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "tenon/autograd/node.h"

namespace tenon::autograd {

// Pairs of hooks that threads have (autograd/saved_tensors_hooks.h).
extern TENON_API std::atomic<int> g_saved_tensors_hooks;

class TENON_API SavedTensor {
 public:
  // Error for an inference tensor, whose writes are not counted; `owner` names the call.
  void save(const Tensor& t, const Node& owner) {
    if (!t.defined()) return;
    if (t.unsafeGetTensorImpl()->flags & core::kInference) refuse_inference(owner);
    tensor_ = t;
    version_ = t.unsafeGetTensorImpl()->version();
    if (TENON_UNLIKELY(g_saved_tensors_hooks.load(std::memory_order_relaxed) != 0)) pack();
  }
  void save(const std::optional<Tensor>& t, const Node& owner) {
    if (t) save(*t, owner);
  }
  // An output of the node itself: kept without its history, which would be a cycle.
  void save_output(const Tensor& t, uint32_t output_nr);
  Tensor unpack(Node& owner) const;
  std::optional<Tensor> unpack_optional(Node& owner) const;
  void release() { tensor_.reset(); }

 private:
  [[noreturn]] static void refuse_inference(const Node& owner);
  TENON_COLD void pack();
  TENON_COLD Tensor unpack_packed(Node& owner) const;
  Tensor with_history(Tensor t, Node& owner) const;
  Tensor tensor_;
  uint32_t version_ = 0;
  uint32_t output_nr_ = 0;
  bool is_output_ = false;
  bool tracked_ = false;  // of an output
};

class TENON_API SavedTensorList {
 public:
  void save(TensorList list, const Node& owner);
  void save(ArrayRef<std::optional<Tensor>> list, const Node& owner);
  std::vector<Tensor> unpack(Node& owner) const;
  void release() { items_.clear(); }

 private:
  std::vector<SavedTensor> items_;
};

// Shape and kind of a tensor, without its data; of one with a layout of its own, where its elements
// are.
class TENON_API SavedGeometry {
 public:
  void save(const Tensor& t);
  void save(const std::optional<Tensor>& t) {
    if (t && t->defined()) save(*t);
  }
  IntArrayRef sizes() const { return {n_ <= kInline ? inline_ : rare_->sizes.data(), n_}; }
  int64_t size(int64_t d) const {
    return sizes()[static_cast<std::size_t>(d < 0 ? d + static_cast<int64_t>(n_) : d)];
  }
  int64_t dim() const { return static_cast<int64_t>(n_); }
  int64_t numel() const;
  ScalarType scalar_type() const { return dtype_; }
  TensorOptions options() const;
  Layout layout() const { return layout_; }
  // Where layout() is not kStrided, a handle on the tensor's components, without history.
  const Tensor& pattern() const { return rare_->pattern; }
  const SavedGeometry& geometry() const { return *this; }  // what formulas write

 private:
  static constexpr std::size_t kInline = 5;
  std::size_t n_ = 0;
  int64_t inline_[kInline];
  ScalarType dtype_ = ScalarType::Undefined;
  core::DeviceId device_;
  Layout layout_ = kStrided;
  struct Rare {
    std::vector<int64_t> sizes;  // more than kInline
    Tensor pattern;
  };
  std::unique_ptr<Rare> rare_;
};

// The shapes and kinds of a list of tensors.
class TENON_API SavedListGeometry {
 public:
  void save(TensorList list);
  const std::vector<SavedGeometry>& geometry() const { return items_; }

 private:
  std::vector<SavedGeometry> items_;
};

// Where in its storage a tensor lies.
class TENON_API SavedStridedGeometry {
 public:
  void save(const Tensor& t) {
    strides_ = t.strides().vec();
    offset_ = t.storage_offset();
  }
  IntArrayRef strides() const { return strides_; }
  int64_t storage_offset() const { return offset_; }

 private:
  std::vector<int64_t> strides_;
  int64_t offset_ = 0;
};

// A list argument, owned; short ones need no heap.
template <class T>
class SavedList {
 public:
  SavedList() = default;
  SavedList& operator=(ArrayRef<T> v) {
    n_ = v.size();
    T* to = inline_;
    if (n_ > kInline) {
      heap_.resize(n_);
      to = heap_.data();
    }
    for (std::size_t i = 0; i < n_; ++i) to[i] = v[i];
    return *this;
  }
  operator ArrayRef<T>() const { return {n_ <= kInline ? inline_ : heap_.data(), n_}; }
  operator OptionalArrayRef<T>() const { return OptionalArrayRef<T>(ArrayRef<T>(*this)); }
  const T& operator[](std::size_t i) const { return ArrayRef<T>(*this)[i]; }
  std::size_t size() const { return n_; }

 private:
  static constexpr std::size_t kInline = 6;
  std::size_t n_ = 0;
  T inline_[kInline];
  std::vector<T> heap_;
};

template <class T>
class SavedOptList {
 public:
  SavedOptList& operator=(const OptionalArrayRef<T>& v) {
    has_ = v.has_value();
    if (has_) list_ = *v;
    return *this;
  }
  SavedOptList& operator=(const std::optional<ArrayRef<T>>& v) {
    has_ = v.has_value();
    if (has_) list_ = *v;
    return *this;
  }
  operator OptionalArrayRef<T>() const {
    return has_ ? OptionalArrayRef<T>(ArrayRef<T>(list_)) : OptionalArrayRef<T>();
  }
  operator std::optional<ArrayRef<T>>() const {
    return has_ ? std::optional<ArrayRef<T>>(list_) : std::nullopt;
  }

 private:
  bool has_ = false;
  SavedList<T> list_;
};

}  // namespace tenon::autograd
