// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/creation.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <sstream>

#include "tenon/core/dispatch.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace detail {
namespace {

// Without brackets: "2", "2 3".
std::string text_of(const std::vector<int64_t>& sizes) {
  std::string out;
  for (const int64_t n : sizes) out += (out.empty() ? "" : " ") + std::to_string(n);
  return out;
}

}  // namespace

TensorData::TensorData(std::initializer_list<TensorData> items)
    : leaf_(false),
      type_(items.size() ? items.begin()->type_ : get_default_dtype()),
      items_(items) {
  sizes_ = {static_cast<int64_t>(items.size())};
  for (const TensorData& i : items_) {
    type_ = promote_types(type_, i.type_);
  }
  if (!items_.empty())
    sizes_.insert(sizes_.end(), items_[0].sizes_.begin(), items_[0].sizes_.end());
}

void TensorData::check_rows(int64_t depth) const {
  for (const TensorData& i : items_) i.check_rows(depth + 1);
  for (const TensorData& i : items_) {
    if (i.sizes_ != items_[0].sizes_) items_[0].ragged(i, depth + 1);
  }
}

void TensorData::ragged(const TensorData& other, int64_t depth) const {
  const std::size_t rank = std::min(sizes_.size(), other.sizes_.size());
  std::size_t at = 0;
  while (at < rank && sizes_[at] == other.sizes_[at]) ++at;
  const auto items = [&](const std::vector<int64_t>& sizes, const char* unit) {
    return at < sizes.size() ? core::join(sizes[at], unit) : std::string("a number");
  };
  throw ValueError(core::join("tensor: Expected all sub-lists to have sizes: ", text_of(sizes_),
                              " (e.g. ", text(), "), but got sub-list ", other.text(),
                              " with sizes: ", text_of(other.sizes_), "; expected ",
                              items(sizes_, " items"), " at depth ",
                              depth + static_cast<int64_t>(at), ", got ", items(other.sizes_, "")));
}

TensorData::TensorData(const std::vector<bool>& v)
    : leaf_(false), array_(true), type_(ScalarType::Bool) {
  for (bool b : v) items_.push_back(TensorData(b));
  sizes_ = {static_cast<int64_t>(v.size())};
}

void TensorData::write(char*& at, ScalarType dtype) const {
  if (!leaf_) {
    for (const TensorData& i : items_) i.write(at, dtype);
    return;
  }
  switch (dtype) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  case ScalarType::Enum: {                                             \
    ctype v = scalar_.to<ctype>();                                     \
    std::memcpy(at, &v, sizeof v);                                     \
    break;                                                             \
  }
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
    default:
      throw NotImplementedError(
          core::join("tensor: not implemented for dtype ", dtype_name(dtype)));
  }
  at += core::item_size(dtype);
}

std::string TensorData::text() const {
  if (leaf_) {
    std::ostringstream out;
    if (scalar_.isComplex())
      out << scalar_.to<core::complex<double>>();
    else if (scalar_.isFloatingPoint())
      out << scalar_.to<double>();
    else
      out << scalar_.to<int64_t>();
    return std::move(out).str();
  }
  std::string out = "{";
  for (const TensorData& i : items_) out += (out.size() > 1 ? ", " : "") + i.text();
  return out + "}";
}

namespace {
void check_kind(bool is, const char* name) {
  TENON_CHECK(is, ValueError, "tensor: Can only call `", name,
              "()` on a TensorDataContainer that has `is_", name, "() == true`");
}
}  // namespace

const Scalar& TensorData::scalar() const {
  check_kind(is_scalar(), "scalar");
  return scalar_;
}
const std::vector<TensorData>& TensorData::init_list() const {
  check_kind(is_init_list(), "init_list");
  return items_;
}
Tensor TensorData::tensor() const {
  check_kind(is_tensor(), "tensor");
  return make({});
}

std::ostream& operator<<(std::ostream& out, const TensorData& v) { return out << v.text(); }

namespace {
// float for Float: as C++ writes it, which is how libtorch's error names it.
std::string as_written(ScalarType t) {
  std::string name(toString(t));
  name[0] = static_cast<char>(std::tolower(name[0]));
  return name;
}
}  // namespace

Tensor TensorData::make(const TensorOptions& options) const {
  check_rows(1);
  TENON_CHECK(!options.has_dtype() || !isComplexType(type_) || isComplexType(options.dtype()),
              TypeError, "tensor: value cannot be converted to type ", as_written(options.dtype()),
              " without overflow: complex numbers can not be "
              "casted to real number without loss of information");
  // As libtorch: int stands for any integer and float for any floating number, also in vectors.
  ScalarType dtype = options.has_dtype()                   ? options.dtype()
                     : type_ == kFloat || type_ == kDouble ? get_default_dtype()
                     : type_ == kInt                       ? kLong
                                                           : type_;
  const ScalarType written = core::computing_dtype(dtype);
  Tensor host = empty(sizes_, TensorOptions(written));
  char* at = static_cast<char*>(host.data_ptr());
  write(at, written);
  host = host.to(dtype);
  if (options.has_device()) host = host.to(options.device());
  return host.set_requires_grad(options.requires_grad());
}

}  // namespace detail

Tensor tensor(detail::TensorData data, const TensorOptions& options) { return data.make(options); }

namespace {
// The options, and where they say nothing those of the tensor.
TensorOptions options_like(const Tensor& t, const TensorOptions& o) {
  return TensorOptions(t.scalar_type()).device(t.device()).merge_in(o);
}
}  // namespace

Tensor Tensor::new_tensor(const detail::TensorData& data, const TensorOptions& options) const {
  return data.make(options_like(*this, options));
}
Tensor Tensor::new_copy(const Tensor& data, const TensorOptions& options) const {
  const TensorOptions o = options_like(*this, options);
  return data.detach().to(o, false, true).set_requires_grad(o.requires_grad());
}

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  return from_blob_with(data, sizes, {}, nullptr, nullptr, options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  return from_blob_with(data, sizes, strides, nullptr, nullptr, options);
}

Tensor from_blob_with(void* data, IntArrayRef sizes, IntArrayRef strides,
                      void (*deleter)(void*, void*), void* context, const TensorOptions& options) {
  TENON_CHECK(strides.empty() || strides.size() == sizes.size(), ValueError, "from_blob: sizes ",
              sizes, " and strides ", strides, " differ in length");
  ScalarType dtype = options.dtype();
  const core::DeviceId device = core::device_id(options.device());
  int64_t span = core::checked_numel("from_blob", static_cast<int>(sizes.size()), sizes.data());
  if (!strides.empty()) {
    span = static_cast<int64_t>(core::checked_extent("from_blob", 1, static_cast<int>(sizes.size()),
                                                     sizes.data(), strides.data()));
  }
  TENON_CHECK(data || span == 0, ValueError, "from_blob: argument 'data' is null, but there are ",
              span, " elements");
  auto storage = core::Storage::wrap(
      device, data, static_cast<uint64_t>(span) * core::item_size(dtype), deleter, context);
  Tensor t(core::TensorImpl::make(dtype, std::move(storage), 0, static_cast<int>(sizes.size()),
                                  sizes.data(), strides.empty() ? nullptr : strides.data()));
  return t.set_requires_grad(options.requires_grad());
}

}  // namespace tenon
