// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// x.index(...): basic indices become views, masks and index tensors go to the index operator.
#include "tenon/indexing.h"

#include <ostream>
#include <string_view>
#include <vector>

#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon {
namespace indexing {

TensorIndex::TensorIndex(const char* text) : type_(TensorIndexType::Ellipsis) {
  TENON_CHECK(text && std::string_view(text) == "...", ValueError,
              "Expected \"...\" to represent an ellipsis index, but got \"", text ? text : "null",
              "\"");
}

std::ostream& operator<<(std::ostream& out, const Slice& slice) {
  return out << slice.start() << ":" << slice.stop() << ":" << slice.step();
}

std::ostream& operator<<(std::ostream& out, const TensorIndex& index) {
  switch (index.type()) {
    case TensorIndexType::None:
      return out << "None";
    case TensorIndexType::Ellipsis:
      return out << "...";
    case TensorIndexType::Integer:
      return out << index.integer();
    case TensorIndexType::Boolean:
      return out << (index.boolean() ? "true" : "false");
    case TensorIndexType::Slice:
      return out << index.slice();
    case TensorIndexType::Tensor:
      return out << index.tensor();
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const std::vector<TensorIndex>& indices) {
  const char* before = "(";
  for (const TensorIndex& i : indices) {
    out << before << i;
    before = ", ";
  }
  return out << (indices.empty() ? "()" : ")");
}

namespace {

// What is left after views: the tensor, and an index tensor or nothing for each of its dimensions.
struct Resolved {
  Tensor self;
  std::vector<std::optional<Tensor>> indices;
  bool advanced = false;
  std::vector<int64_t> of;  // of each of `indices`: the dimension of the tensor that is indexed
};

bool is_mask(const Tensor& t) { return t.scalar_type() == kBool || t.scalar_type() == kUInt8; }

int64_t consumed(ArrayRef<TensorIndex> list) {
  int64_t n = 0;
  for (const TensorIndex& i : list) {
    if (i.is_integer() || i.is_slice()) ++n;
    if (i.is_tensor()) n += is_mask(i.tensor()) ? i.tensor().dim() : 1;
  }
  return n;
}

void set_index(Resolved& r, int64_t at, Tensor index, int64_t of) {
  r.indices.resize(static_cast<std::size_t>(at) + 1);
  r.of.resize(r.indices.size());
  r.of.back() = of;
  r.indices[static_cast<std::size_t>(at)] = std::move(index);
  r.advanced = true;
}

// Of dimension `of` of the tensor that is indexed; what is selected from may have lost or gained
// some.
int64_t checked_index(const Tensor& self, int64_t of, int64_t given) {
  const int64_t size = self.size(of);
  TENON_CHECK(size > 0, IndexError,
              "index: index is out of bounds for dimension with size 0: ", given, " for dimension ",
              of);
  TENON_CHECK(given >= -size && given < size, IndexError, "index: index ", given,
              " is out of bounds for dimension ", of, " with size ", size);
  return given;
}

// A truth value, also a mask without dimensions, is a new dimension with all of the tensor or with
// nothing.
void set_bool_index(Resolved& r, int64_t d, int64_t covered, bool truth, int64_t of) {
  r.self = r.self.unsqueeze(d);
  set_index(r, d - covered,
            truth ? zeros({1}, TensorOptions(kLong)) : empty({0}, TensorOptions(kLong)), of);
}

Tensor sliced(const Tensor& self, int64_t d, const Slice& s) {
  TENON_CHECK(s.step() > 0, ValueError, "index: slice step must be positive, got ", s.step());
  const bool all = s.start() == 0 && s.stop() == INDEX_MAX && s.step() == 1;
  return all ? self : self.slice(d, s.start(), s.stop(), s.step());
}

Resolved resolve(const char* call, const Tensor& self, ArrayRef<TensorIndex> list) {
  TENON_CHECK(!list.empty(), IndexError, call, ": Passing an empty index list to Tensor::", call,
              "() is not valid syntax; Ellipsis stands for all of the tensor");
  Resolved r{self, {}, false, {}};
  int64_t used = consumed(list), rank = self.dim();
  TENON_CHECK(
      !(rank == 0 && used > 0), IndexError,
      "index: invalid index of a 0-dim tensor: one cannot index a 0-dim tensor; use item()");
  TENON_CHECK(used <= rank, IndexError, "index: too many indices (", used, ") for rank ", rank);
  int64_t d = 0, of = 0, covered = 0;  // a mask of n dimensions is one entry of the list
  for (const TensorIndex& i : list) {
    switch (i.type()) {
      case TensorIndexType::None:
        r.self = r.self.unsqueeze(d++);
        break;
      case TensorIndexType::Ellipsis:
        d += rank - used;
        of += rank - used;
        break;
      case TensorIndexType::Integer:
        r.self = r.self.select(d, checked_index(self, of++, i.integer()));
        break;
      case TensorIndexType::Boolean:
        set_bool_index(r, d++, covered, i.boolean(), of);
        break;
      case TensorIndexType::Slice:
        r.self = sliced(r.self, d, i.slice());
        ++d;
        ++of;
        break;
      case TensorIndexType::Tensor: {
        const Tensor& t = i.tensor();
        bool integer = isIntegralType(t.scalar_type()) && t.scalar_type() != kUInt8;
        if (t.dim() == 0 && integer) {
          r.self = r.self.select(d, checked_index(self, of++, t.item().toLong()));
          break;
        }
        if (t.dim() == 0 && is_mask(t)) {
          set_bool_index(r, d++, covered, t.is_nonzero(), of);
          break;
        }
        set_index(r, d - covered, t, of);
        d += integer ? 1 : t.dim();
        of += integer ? 1 : t.dim();
        if (!integer) covered += t.dim() - 1;
        break;
      }
    }
  }
  return r;
}

// The kernel's error counts dimensions after the views: this names the dimension of the indexed
// tensor.
void name_dimension(const Tensor& self, const Resolved& r) {
  for (std::size_t k = 0; k < r.indices.size(); ++k) {
    if (!r.indices[k] || r.indices[k]->numel() == 0 || r.of[k] >= self.dim()) continue;
    const ScalarType t = r.indices[k]->scalar_type();
    if (t != kLong && t != kInt) continue;
    const auto [lowest, highest] = r.indices[k]->aminmax();
    (void)checked_index(self, r.of[k], lowest.item<int64_t>());
    (void)checked_index(self, r.of[k], highest.item<int64_t>());
  }
}

template <class F>
auto naming_dimensions(const Tensor& self, const Resolved& r, F&& f) {
  try {
    return f();
  } catch (const IndexError&) {
    name_dimension(self, r);
    throw;
  }
}

Tensor as_value(const Tensor& self, const Scalar& v) { return full({}, v, self.options()); }

}  // namespace
}  // namespace indexing

using indexing::TensorIndex;

Tensor Tensor::index(std::initializer_list<TensorIndex> i) const {
  return index(ArrayRef<TensorIndex>(i));
}
Tensor Tensor::index(ArrayRef<TensorIndex> list) const {
  indexing::Resolved r = indexing::resolve("index", *this, list);
  if (!r.advanced) return r.self.is_same(*this) ? alias() : r.self;
  return indexing::naming_dimensions(
      *this, r, [&] { return r.self.index(ArrayRef<std::optional<Tensor>>(r.indices)); });
}

Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> i, const Tensor& v) const {
  return index_put_(ArrayRef<TensorIndex>(i), v);
}
Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> i, const Scalar& v) const {
  return index_put_(ArrayRef<TensorIndex>(i), v);
}

Tensor& Tensor::index_put_(ArrayRef<TensorIndex> list, const Tensor& v) const {
  indexing::Resolved r = indexing::resolve("index_put_", *this, list);
  if (!r.advanced) {
    Tensor value = v;
    while (value.dim() > r.self.dim() && value.size(0) == 1)
      value = value.squeeze(0);  // as assignment in numpy
    r.self.copy_(value);
  } else {
    const Tensor value = v.scalar_type() == scalar_type() ? v : v.to(scalar_type());
    indexing::naming_dimensions(
        *this, r, [&] { r.self.index_put_(ArrayRef<std::optional<Tensor>>(r.indices), value); });
  }
  return const_cast<Tensor&>(*this);
}

Tensor& Tensor::index_put_(ArrayRef<TensorIndex> list, const Scalar& v) const {
  indexing::Resolved r = indexing::resolve("index_put_", *this, list);
  if (!r.advanced)
    r.self.fill_(v);
  else
    indexing::naming_dimensions(*this, r, [&] {
      r.self.index_put_(ArrayRef<std::optional<Tensor>>(r.indices), indexing::as_value(*this, v));
    });
  return const_cast<Tensor&>(*this);
}

Tensor& Tensor::masked_copy_(const Tensor& mask, const Tensor& source) const {
  warn_once("masked_copy_", "deprecated", "masked_copy_ was renamed masked_scatter_");
  return masked_scatter_(mask, source);
}

Tensor Tensor::operator[](int64_t i) const {
  TENON_CHECK(dim() > 0, IndexError,
              "operator[]: invalid index of a 0-dim tensor: one cannot index a 0-dim tensor; use "
              "item()");
  return select(0, i);
}
Tensor Tensor::operator[](const Tensor& i) const { return index({i}); }
Tensor Tensor::operator[](const Scalar& i) const {
  TENON_CHECK(i.isIntegral(false), IndexError, "operator[]: an index must be an integer");
  return (*this)[i.toLong()];
}

}  // namespace tenon
