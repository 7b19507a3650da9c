// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "case_reader.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "tenon/core/dispatch.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/tensor.h"

namespace tenon::oracle {
namespace {

std::vector<char> read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  TENON_CHECK(in, ValueError, "cannot open ", path);
  std::vector<char> bytes(static_cast<std::size_t>(in.tellg()));
  in.seekg(0);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  TENON_CHECK(in, ValueError, "cannot read ", path);
  return bytes;
}

ScalarType stored_dtype(const std::string& path, std::string_view name) {
#define TN_DTYPE(Enum, id, Name, dtype, ctype, code, bits, cls, format) \
  if (name == #format) return ScalarType::Enum;
#include "tenon/abi/dtypes.def"
#include "tenon/abi/storage_dtypes.def"
#undef TN_DTYPE
  throw ValueError(core::join(path, ": dtype ", name, " is not known"));
}

// The elements of `ref` inside its stored tensor.
struct Geometry {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  bool view = false;
};

Geometry geometry(const Stored& s, const json& ref) {
  Geometry g;
  g.view = ref.contains("size");
  g.sizes = g.view ? ref.at("size").get<std::vector<int64_t>>() : s.sizes;
  g.strides.resize(g.sizes.size());
  if (!g.view) {
    core::contiguous_strides(static_cast<int>(g.sizes.size()), g.sizes.data(), g.strides.data());
    return g;
  }
  g.strides = ref.at("stride").get<std::vector<int64_t>>();
  g.offset = ref.at("offset").get<int64_t>();
  int64_t first = g.offset, last = g.offset;
  bool empty = false;
  for (std::size_t d = 0; d < g.sizes.size(); ++d) {
    empty = empty || g.sizes[d] == 0;
    (g.strides[d] < 0 ? first : last) += (g.sizes[d] - 1) * g.strides[d];
  }
  int64_t n = static_cast<int64_t>(s.bytes / core::item_size(s.dtype));
  TENON_CHECK(empty || (first >= 0 && last < n), ValueError, "a view reaches element ", last,
              " of a storage of ", n);
  return g;
}

template <class T>
core::complex<double> read_complex(const char* p) {
  core::complex<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
core::complex<double> complex_at(ScalarType dtype, const char* p) {
  if (dtype == kComplexHalf) return core::complex<double>(read_complex<Half>(p));
  return dtype == kComplexFloat ? read_complex<float>(p) : read_complex<double>(p);
}

double real_at(ScalarType dtype, const char* p) {
  if (isComplexType(dtype)) return complex_at(dtype, p).real();
  switch (dtype) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  case ScalarType::Enum: {                                             \
    ctype v;                                                           \
    std::memcpy(&v, p, sizeof v);                                      \
    return Scalar(v).toDouble();                                       \
  }
#include "tenon/abi/dtypes.def"
#include "tenon/abi/storage_dtypes.def"
#undef TN_DTYPE
    default:
      throw TypeError("cannot read dtype " + std::string(toString(dtype)));
  }
}

int64_t exact_at(ScalarType dtype, const char* p) {
  if (isFloatingType(dtype)) return 0;
  if (dtype == ScalarType::Long) {
    int64_t v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  return static_cast<int64_t>(real_at(dtype, p));
}

Values read_values(ScalarType dtype, const Geometry& g, const char* base) {
  Values out{dtype, g.sizes, {}, {}, {}};
  int64_t n = 1;
  for (int64_t s : g.sizes) n *= s;
  out.real.reserve(static_cast<std::size_t>(n));
  const bool complex = isComplexType(dtype);
  bool exact = !isFloatingType(dtype) && !complex;
  int64_t item = core::item_size(dtype);
  std::vector<int64_t> at(g.sizes.size(), 0);
  int64_t element = g.offset;
  for (int64_t i = 0; i < n; ++i) {
    const char* p = base + element * item;
    out.real.push_back(real_at(dtype, p));
    if (exact) out.exact.push_back(exact_at(dtype, p));
    if (complex) out.imaginary.push_back(complex_at(dtype, p).imag());
    for (std::size_t d = at.size(); d-- > 0;) {
      element += g.strides[d];
      if (++at[d] < g.sizes[d]) break;
      element -= g.strides[d] * g.sizes[d];
      at[d] = 0;
    }
  }
  return out;
}

core::Impl to_device(core::Impl host, core::DeviceId device) {
  if (device.is_host()) return host;
  core::Impl copy = core::new_tensor("oracle", host->dtype, device, host->ndim(), host->view.sizes);
  core::copy(*copy, *host);
  return copy;
}

}  // namespace

StoredFile::StoredFile(const std::string& path) : path_(path), bytes_(read_all(path)) {
  uint64_t header = 0;
  TENON_CHECK(bytes_.size() >= 8, ValueError, path, ": shorter than its header");
  std::memcpy(&header, bytes_.data(), 8);
  TENON_CHECK(header <= bytes_.size() - 8, ValueError, path, ": header of ", header,
              " bytes in a file of ", bytes_.size());
  const char* text = bytes_.data() + 8;
  const char* base = text + header;
  uint64_t capacity = bytes_.size() - 8 - header;
  json head = json::parse(text, base, nullptr, false);
  TENON_CHECK(head.is_object(), ValueError, path, ": the header is not JSON");
  for (auto& [key, entry] : head.items()) {
    if (key == "__metadata__") continue;
    Stored s{stored_dtype(path, entry.at("dtype").get<std::string>()),
             entry.at("shape").get<std::vector<int64_t>>(), nullptr, 0};
    auto range = entry.at("data_offsets").get<std::vector<uint64_t>>();
    TENON_CHECK(range.size() == 2 && range[0] <= range[1] && range[1] <= capacity, ValueError, path,
                ": tensor ", key, " lies outside of the file");
    s.data = base + range[0];
    s.bytes = range[1] - range[0];
    uint64_t need = core::item_size(s.dtype);
    for (int64_t d : s.sizes) need *= static_cast<uint64_t>(d);
    TENON_CHECK(need == s.bytes, ValueError, path, ": tensor ", key, " has ", s.bytes,
                " bytes, its shape needs ", need);
    tensors_.emplace(key, std::move(s));
  }
}

const Stored& StoredFile::at(const std::string& key) const {
  auto it = tensors_.find(key);
  TENON_CHECK(it != tensors_.end(), ValueError, path_, ": no tensor named ", key);
  return it->second;
}

Values values_of(core::TensorImpl& t) {
  if (t.composite())
    return values_of(*Tensor(core::Impl::share(&t)).detach().to_dense().unsafeGetTensorImpl());
  core::Impl host = core::Impl::share(&t);
  if (!t.device_id.is_host()) {
    host = core::new_tensor("oracle", t.dtype, core::kHost, t.ndim(), t.view.sizes);
    core::copy(*host, t);
  }
  Geometry g;
  g.sizes = host->sizes().vec();
  g.strides = host->strides().vec();
  return read_values(host->dtype, g, host->host_data());
}

bool is_number(const json& j) {
  return j.is_number() || (j.is_string() && (j == "inf" || j == "-inf" || j == "nan"));
}

double number(const json& j) {
  if (j.is_number()) return j.get<double>();
  TENON_CHECK(is_number(j), ValueError, "not a number: ", j.dump());
  if (j == "nan") return std::numeric_limits<double>::quiet_NaN();
  double inf = std::numeric_limits<double>::infinity();
  return j == "inf" ? inf : -inf;
}

CaseFile::CaseFile(const std::string& json_path) : path_(json_path) {
  std::vector<char> text = read_all(json_path);
  cases_ = json::parse(text.begin(), text.end(), nullptr, false);
  TENON_CHECK(!cases_.is_discarded(), ValueError, json_path, ": not JSON");
  std::string tensor_path = json_path.substr(0, json_path.rfind('.')) + ".safetensors";
  if (std::ifstream(tensor_path)) tensors_ = StoredFile(tensor_path);
}

bool is_complex_number(const json& j) {
  return j.is_object() && j.contains("complex") && j.at("complex").is_array();
}
core::complex<double> complex_number(const json& j) {
  const json& parts = j.at("complex");
  return {number(parts.at(0)), number(parts.at(1))};
}

Stored CaseFile::stored(const json& ref) const {
  Stored s = tensors_.at(ref.at("t").get<std::string>());
  if (!ref.value("complex", false)) return s;
  TENON_CHECK(!s.sizes.empty() && s.sizes.back() == 2, ValueError,
              "a stored complex tensor ends in a dimension of size 2, got ",
              core::text(IntArrayRef(s.sizes)));
  s.sizes.pop_back();
  s.dtype = toComplexType(s.dtype);
  return s;
}

core::Impl CaseFile::tensor(const json& ref, core::DeviceId device) const {
  const Stored s = stored(ref);
  Geometry g = geometry(s, ref);
  core::Impl flat = core::new_tensor("oracle", s.dtype, core::kHost,
                                     static_cast<int>(s.sizes.size()), s.sizes.data());
  if (s.bytes) std::memcpy(flat->host_data(), s.data, s.bytes);
  flat = to_device(std::move(flat), device);
  if (!g.view) return flat;
  return core::TensorImpl::make(s.dtype, flat->storage,
                                static_cast<uint64_t>(g.offset) * core::item_size(s.dtype),
                                static_cast<int>(g.sizes.size()), g.sizes.data(), g.strides.data());
}

core::Impl CaseFile::tensor_as(const json& ref, ScalarType dtype, core::DeviceId device) const {
  core::Impl from = tensor(ref);
  core::Impl to = core::new_tensor("oracle", dtype, core::kHost, from->ndim(), from->view.sizes);
  core::copy(*to, *from);
  return to_device(std::move(to), device);
}

Values CaseFile::values(const json& ref) const {
  const Stored s = stored(ref);
  return read_values(s.dtype, geometry(s, ref), s.data);
}

}  // namespace tenon::oracle
