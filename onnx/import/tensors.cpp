// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/import/tensors.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

// Of each number in DataType.
struct TypeRow {
  const char* name;
  ScalarType held;
  int bits;  // in raw data; 0: not read
};
constexpr TypeRow kTypes[] = {{"undefined", ScalarType::Undefined, 0},
                              {"float", kFloat, 32},
                              {"uint8", kByte, 8},
                              {"int8", kChar, 8},
                              {"uint16", kInt, 16},
                              {"int16", kShort, 16},
                              {"int32", kInt, 32},
                              {"int64", kLong, 64},
                              {"string", ScalarType::Undefined, 0},
                              {"bool", kBool, 8},
                              {"float16", kHalf, 16},
                              {"double", kDouble, 64},
                              {"uint32", kLong, 32},
                              {"uint64", kLong, 64},
                              {"complex64", kComplexFloat, 64},
                              {"complex128", kComplexDouble, 128},
                              {"bfloat16", kBFloat16, 16},
                              {"float8e4m3fn", kFloat, 8},
                              {"float8e4m3fnuz", kFloat, 8},
                              {"float8e5m2", kFloat, 8},
                              {"float8e5m2fnuz", kFloat, 8},
                              {"uint4", kByte, 4},
                              {"int4", kChar, 4},
                              {"float4e2m1", kFloat, 4},
                              {"float8e8m0", kFloat, 8},
                              {"uint2", kByte, 2},
                              {"int2", kChar, 2},
                              {"float6e2m3", kFloat, 6},
                              {"float6e3m2", kFloat, 6}};
constexpr int kLastType = static_cast<int>(std::size(kTypes)) - 1;

const TypeRow* row_of(int32_t type) {
  return type > 0 && type <= kLastType && kTypes[type].bits > 0 ? &kTypes[type] : nullptr;
}

// The elements of one type that lie packed from the lowest bits on.
int64_t unpack(const char* data, int64_t i, int bits) {
  const int64_t at = i * bits;
  unsigned pair = static_cast<unsigned char>(data[at / 8]);
  if (at % 8 + bits > 8) pair |= unsigned{static_cast<unsigned char>(data[at / 8 + 1])} << 8;
  return (pair >> (at % 8)) & ((1u << bits) - 1);
}

bool is_signed_integer(int32_t type) { return type == pb::INT4 || type == pb::INT2; }

Tensor unpack_small(const char* data, const std::vector<int64_t>& sizes, int64_t n, int32_t type,
                    const TypeRow& row) {
  Tensor out = empty(sizes, row.held);
  const SmallFloat* f = small_float(type);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t bits = unpack(data, i, row.bits);
    if (f) {
      out.data_ptr<float>()[i] = decode(*f, static_cast<uint8_t>(bits));
    } else if (is_signed_integer(type)) {
      const int64_t sign = int64_t{1} << (row.bits - 1);
      out.data_ptr<int8_t>()[i] = static_cast<int8_t>((bits ^ sign) - sign);
    } else {
      out.data_ptr<uint8_t>()[i] = static_cast<uint8_t>(bits);
    }
  }
  return out;
}

template <class From, class To>
Tensor widen(const char* data, const std::vector<int64_t>& sizes, int64_t n, ScalarType held) {
  Tensor out = empty(sizes, held);
  To* to = out.data_ptr<To>();
  for (int64_t i = 0; i < n; ++i) {
    From v;
    std::memcpy(&v, data + static_cast<std::size_t>(i) * sizeof v, sizeof v);
    to[i] = static_cast<To>(v);
  }
  return out;
}

// From bytes as raw_data has them.
Tensor from_bytes(const char* data, const std::vector<int64_t>& sizes, int64_t n, int32_t type) {
  const TypeRow& row = *row_of(type);
  if (row.bits < 8 || small_float(type)) return unpack_small(data, sizes, n, type, row);
  if (type == pb::UINT16) return widen<uint16_t, int32_t>(data, sizes, n, row.held);
  if (type == pb::UINT32) return widen<uint32_t, int64_t>(data, sizes, n, row.held);
  Tensor out = empty(sizes, row.held);
  const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(row.bits / 8);
  if (type == pb::BOOL) {  // any byte but 0 is true
    for (std::size_t i = 0; i < bytes; ++i) out.data_ptr<bool>()[i] = data[i] != 0;
  } else if (bytes > 0) {
    std::memcpy(out.data_ptr(), data, bytes);
  }
  return out;
}

// The list of numbers that the type uses, as bytes of raw_data.
template <class To, class List>
std::string narrow_list(const List& from) {
  std::string out(static_cast<std::size_t>(from.size()) * sizeof(To), '\0');
  for (int i = 0; i < from.size(); ++i) {
    const To v = static_cast<To>(from.Get(i));
    std::memcpy(out.data() + static_cast<std::size_t>(i) * sizeof v, &v, sizeof v);
  }
  return out;
}

std::string bytes_of_lists(const pb::TensorProto& t) {
  switch (t.data_type()) {
    case pb::FLOAT:
    case pb::COMPLEX64:
      return narrow_list<float>(t.float_data());
    case pb::DOUBLE:
    case pb::COMPLEX128:
      return narrow_list<double>(t.double_data());
    case pb::INT64:
      return narrow_list<int64_t>(t.int64_data());
    case pb::UINT32:
      return narrow_list<uint32_t>(t.uint64_data());
    case pb::UINT64:
      return narrow_list<uint64_t>(t.uint64_data());
    case pb::INT32:
      return narrow_list<int32_t>(t.int32_data());
    case pb::INT16:
    case pb::UINT16:
    case pb::FLOAT16:
    case pb::BFLOAT16:
      return narrow_list<uint16_t>(t.int32_data());
    default:
      return narrow_list<uint8_t>(t.int32_data());
  }
}

std::string shown(const pb::TensorProto& t) {
  return t.name().empty() ? "a tensor" : "tensor '" + t.name().substr(0, 200) + "'";
}

// The number of elements.
int64_t check_sizes(const pb::TensorProto& t) {
  int64_t n = 1;
  TENON_CHECK(t.dims_size() <= 64, ValueError, shown(t), " has ", t.dims_size(),
              " dimensions; at most 64 are possible");
  for (const int64_t d : t.dims()) {
    TENON_CHECK(d >= 0, ValueError, shown(t), " has a dimension of size ", d);
    TENON_CHECK(!__builtin_mul_overflow(n, d, &n), ValueError, shown(t),
                " has more elements than can be counted");
  }
  // A size of 0 hides what the other sizes say.
  TENON_CHECK(n <= std::numeric_limits<int64_t>::max() / 16, ValueError, shown(t), " is too large");
  return n;
}

void check_bytes(const pb::TensorProto& t, int64_t n, uint64_t given) {
  const auto bits = static_cast<uint64_t>(row_of(t.data_type())->bits);
  const uint64_t wanted = (static_cast<uint64_t>(n) * bits + 7) / 8;
  TENON_CHECK(given == wanted, ValueError, shown(t), " of type ", name_of_type(t.data_type()),
              " and ", n, " elements has ", given, " bytes of data, not ", wanted);
}

// Of the file's own types: the string that was parsed becomes the memory of the tensor.
bool may_use_bytes(int32_t type, const std::string& raw) {
  return type != pb::BOOL && type != pb::UINT16 && type != pb::UINT32 && kTypes[type].bits >= 8 &&
         !small_float(type) && raw.size() >= 4096 &&
         reinterpret_cast<uintptr_t>(raw.data()) % 16 == 0;
}

Tensor use_bytes(std::string raw, const std::vector<int64_t>& sizes, ScalarType held) {
  auto* owner = new std::string(std::move(raw));
  return from_blob_with(
      owner->data(), sizes, {}, [](void* o, void*) { delete static_cast<std::string*>(o); }, owner,
      held);
}

Tensor read(const pb::TensorProto& t, const ExternalData& external, pb::TensorProto* may_take) {
  TENON_CHECK(row_of(t.data_type()), NotImplementedError, shown(t), " is of type ",
              name_of_type(t.data_type()), ", which tensors of Tenon cannot hold");
  TENON_CHECK(!t.has_segment(), NotImplementedError, shown(t), " is in segments");
  const int64_t n = check_sizes(t);
  const std::vector<int64_t> sizes(t.dims().begin(), t.dims().end());
  if (t.data_location() == pb::TensorProto::EXTERNAL) {
    const ExternalData::Bytes bytes = external.read(t);
    check_bytes(t, n, bytes.size);
    return from_bytes(bytes.data, sizes, n, t.data_type());
  }
  if (t.has_raw_data()) {
    check_bytes(t, n, t.raw_data().size());
    if (may_take && may_use_bytes(t.data_type(), t.raw_data()))
      return use_bytes(std::move(*may_take->mutable_raw_data()), sizes, kTypes[t.data_type()].held);
    return from_bytes(t.raw_data().data(), sizes, n, t.data_type());
  }
  const std::string bytes = bytes_of_lists(t);
  check_bytes(t, n, bytes.size());
  return from_bytes(bytes.data(), sizes, n, t.data_type());
}

// Nobody else has the address: backends may keep what they derive from weights.
Tensor with_counted_writes(Tensor t) {
  if (core::Storage* storage = t.unsafeGetTensorImpl()->storage.get()) storage->count_writes();
  return t;
}

}  // namespace

std::optional<ScalarType> dtype_of(int32_t type) {
  const TypeRow* row = row_of(type);
  return row ? std::optional(row->held) : std::nullopt;
}

std::string name_of_type(int32_t type) {
  return type >= 0 && type <= kLastType ? kTypes[type].name : "type " + std::to_string(type);
}

Tensor read_tensor(pb::TensorProto& t, const ExternalData& external) {
  return with_counted_writes(read(t, external, &t));
}
Tensor read_tensor(const pb::TensorProto& t, const ExternalData& external) {
  return with_counted_writes(read(t, external, nullptr));
}

Tensor read_sparse(const pb::SparseTensorProto& t, const ExternalData& external) {
  const std::string name = "sparse " + shown(t.values());
  int64_t n = 1;
  for (const int64_t d : t.dims()) {
    TENON_CHECK(d >= 0 && !__builtin_mul_overflow(n, d, &n) && n <= (int64_t{1} << 32), ValueError,
                name, " has a dimension of size ", d, ", or more than 2^32 elements");
  }
  const Tensor values = read_tensor(t.values(), external).reshape({-1});
  Tensor at = read_tensor(t.indices(), external);
  TENON_CHECK(at.scalar_type() == kLong && at.dim() >= 1 && at.dim() <= 2 &&
                  at.size(0) == values.numel() && (at.dim() == 1 || at.size(1) == t.dims_size()),
              ValueError, name, " has ", values.numel(), " values and indices of shape ",
              at.sizes());
  const std::vector<int64_t> sizes(t.dims().begin(), t.dims().end());
  if (at.dim() == 2) {
    Tensor linear = zeros({at.size(0)}, kLong);
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const Tensor column = at.select(1, static_cast<int64_t>(d));
      TENON_CHECK(column.numel() == 0 || (column.min().item<int64_t>() >= 0 &&
                                          column.max().item<int64_t>() < sizes[d]),
                  ValueError, name, " has an index out of range");
      linear = linear * sizes[d] + column;
    }
    at = linear;
  }
  TENON_CHECK(at.numel() == 0 || (at.min().item<int64_t>() >= 0 && at.max().item<int64_t>() < n),
              ValueError, name, " has an index out of range");
  return zeros({n}, values.scalar_type()).index_put({at}, values).reshape(sizes);
}

}  // namespace tenon::onnx
