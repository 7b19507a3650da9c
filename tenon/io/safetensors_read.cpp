// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reads files that anyone may have made: every length and offset is checked before it is used,
// arithmetic included.
#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include "checksum.h"
#include "content.h"
#include "json.h"
#include "mapped_file.h"
#include "tenon/core/layout.h"
#include "tenon/io/value_json.h"
#include "tenon/ops.h"
#include "tenon/runtime/storage.h"

namespace tenon::serialize::detail {
namespace {

struct FormatDtype {
  std::string_view name;
  ScalarType type;
};
constexpr FormatDtype kDtypes[] = {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) {#format, ScalarType::Enum},
#include "tenon/abi/dtypes.def"
#include "tenon/abi/storage_dtypes.def"
#undef TN_DTYPE
};

struct Source {
  const std::string& name;

  template <class... Parts>
  TENON_INLINE void check(bool ok, const Parts&... parts) const {
    if (TENON_UNLIKELY(!ok)) {
      core::throw_parts<ValueError>({"load: ", name, ": ", core::MessagePart(parts)...});
    }
  }
};

Json parse(const Source& source, const char* what, std::string_view text) {
  try {
    return Json::parse(text, kMaxDepth);
  } catch (const Json::Error& e) {
    source.check(false, what, " ", e.what());
  }
  return {};
}

// The value as a T; `wanted` says what it is not.
template <class T>
const T& expect(const Source& source, const Json* v, const std::string& where, const char* wanted) {
  const T* value = v ? v->as<T>() : nullptr;
  source.check(value, where, " is ", wanted);
  return *value;
}

struct Entry {
  std::string name;
  ScalarType dtype = kFloat32;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;
};

uint64_t read_unsigned(const Source& source, const std::string& where, const Json* v) {
  return expect<uint64_t>(source, v, where, "not a non-negative integer");
}

std::vector<int64_t> read_integers(const Source& source, const std::string& where, const Json* v) {
  auto* list = v ? v->as<Json::Array>() : nullptr;
  source.check(list && list->size() <= core::kMaxDims, where, " is not a list of at most ",
               core::kMaxDims, " integers");
  std::vector<int64_t> out;
  for (const auto& n : *list) {
    uint64_t u = read_unsigned(source, where, &n);
    source.check(u <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()), where,
                 " has a value that is too large");
    out.push_back(static_cast<int64_t>(u));
  }
  return out;
}

// Bytes of so many elements; a message instead of a wrap.
uint64_t checked_bytes(const Source& source, const std::string& name,
                       const std::vector<int64_t>& shape, ScalarType dtype) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  uint64_t bytes = elementSize(dtype);
  for (int64_t n : shape) {
    source.check(!__builtin_mul_overflow(bytes, static_cast<uint64_t>(n), &bytes), "tensor '", name,
                 "': the product of its shape is too large");
  }
  return bytes;
}

Entry parse_entry(const Source& source, const std::string& name, const Json& v) {
  std::string where = "tensor '" + name.substr(0, 80) + "'";
  source.check(name.size() <= kMaxName, where, ": the name is longer than ", kMaxName, " bytes");
  auto* members = v.as<Json::Object>();
  source.check(members && members->size() == 3 && v.find("dtype") && v.find("shape") &&
                   v.find("data_offsets"),
               where, " does not have exactly dtype, shape and data_offsets");
  const auto& dtype_text =
      expect<std::string>(source, v.find("dtype"), where + ": dtype", "not a string");
  auto dtype = from_format_name(dtype_text);
  TENON_CHECK(dtype, NotImplementedError, "load: ", source.name, ": ", where, " has dtype ",
              dtype_text.substr(0, 80), ", which is not supported");
  Entry e;
  e.name = name;
  e.dtype = *dtype;
  e.shape = read_integers(source, where + ": shape", v.find("shape"));
  auto* offsets = v.find("data_offsets")->as<Json::Array>();
  source.check(offsets && offsets->size() == 2, where, ": data_offsets is not a pair");
  e.begin = read_unsigned(source, where + ": data_offsets", &(*offsets)[0]);
  e.end = read_unsigned(source, where + ": data_offsets", &(*offsets)[1]);
  source.check(e.begin <= e.end && e.end - e.begin == checked_bytes(source, name, e.shape, e.dtype),
               where, ": data_offsets do not fit shape and dtype");
  return e;
}

std::vector<Entry> parse_entries(const Source& source, const Json::Object& header,
                                 uint64_t data_size) {
  std::vector<Entry> entries;
  source.check(header.size() <= kMaxTensors, "has more than ", kMaxTensors, " tensors");
  for (const auto& [name, v] : header) {
    if (name != "__metadata__") entries.push_back(parse_entry(source, name, v));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t at = 0;
  for (const auto& e : entries) {
    source.check(e.begin == at, "tensor '", e.name,
                 "': its data leaves a gap or overlaps another's");
    at = e.end;
  }
  source.check(at <= data_size, "is truncated: its header promises ", at,
               " bytes of data, there are ", data_size);
  source.check(at == data_size, "has ", data_size - at, " trailing bytes after the last tensor");
  return entries;
}

// The bytes as they come, with their checksum if the file has one.
class Reader {
 public:
  Reader(const Input& input, uint64_t at) : input_(input), at_(at) {}
  void sum_from(uint32_t crc) {
    sums_ = true;
    crc_ = crc;
  }
  void read(void* out, std::size_t bytes) {
    if (input_.mapped)
      std::memcpy(out, input_.mapped->data() + at_, bytes);
    else
      input_.read(out, bytes);
    at_ += bytes;
    if (sums_) crc_ = crc32(crc_, out, bytes);
  }
  // The next bytes where they are mapped at an address that kernels take, else null.
  std::byte* map(std::size_t bytes) {
    constexpr std::size_t kMin = 64 << 10;  // smaller tensors would keep pages that others leave
    constexpr uint64_t kAlignment = 16;
    if (!input_.mapped || bytes < kMin || at_ % kAlignment != 0) return nullptr;
    std::byte* data = input_.mapped->data() + at_;
    at_ += bytes;
    if (sums_) crc_ = crc32(crc_, data, bytes);
    return data;
  }
  const std::shared_ptr<MappedFile>& mapped() const { return input_.mapped; }
  uint32_t sum() const { return crc_; }

 private:
  const Input& input_;
  uint64_t at_;  // bytes of the file before the next
  bool sums_ = false;
  uint32_t crc_ = 0;
};

// Any other byte in a bool is undefined behavior further on. Pages that need no change stay the
// file's. False if all do.
bool make_bools(std::byte* p, std::size_t bytes) {
  bool any = false;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (p[i] <= std::byte{1}) continue;
    p[i] = std::byte{1};
    any = true;
  }
  return any;
}

// Bytes of the file as a tensor's memory. It goes back to the system with the tensor.
core::Ref<core::Storage> wrap_mapped(const std::shared_ptr<MappedFile>& file, std::byte* data,
                                     uint64_t bytes, bool changed) {
  struct Pages {
    std::shared_ptr<MappedFile> file;
    std::byte* data;
    uint64_t bytes;
  };
  auto pages = std::make_unique<Pages>(Pages{file, data, bytes});
  const auto forget = [](void* context, void*) {
    const std::unique_ptr<Pages> p(static_cast<Pages*>(context));
    p->file->release(p->data, p->bytes);
  };
  auto out = core::Storage::wrap(core::kHost, data, bytes, forget, pages.get());
  (void)pages.release();
  out->count_writes(changed ? 0 : TN_STORAGE_FILE_PAGES);
  return out;
}

Tensor make_tensor(const Entry& e, Reader& reader) {
  const std::size_t bytes = e.end - e.begin;
  if (std::byte* pages = reader.map(bytes)) {
    const bool changed = e.dtype == kBool && make_bools(pages, bytes);
    return Tensor(core::TensorImpl::make(e.dtype,
                                         wrap_mapped(reader.mapped(), pages, bytes, changed), 0,
                                         static_cast<int>(e.shape.size()), e.shape.data()));
  }
  Tensor t = empty(e.shape, TensorOptions().dtype(e.dtype));
  if (bytes == 0) return t;
  auto* out = reinterpret_cast<std::byte*>(t.unsafeGetTensorImpl()->host_data());
  reader.read(out, bytes);
  if (e.dtype == kBool) make_bools(out, bytes);
  return t;
}

// The sum of the file so far: `head` is its start up to the data, and has zeros in place of the
// checksum then.
uint32_t sum_of_head(const Source& source, const std::string& expected, std::string head) {
  const bool hex = expected.find_first_not_of("0123456789abcdef") == std::string::npos;
  source.check(expected.size() == kChecksumDigits && hex, "its tenon.checksum '",
               expected.substr(0, 20), "' is not ", kChecksumDigits,
               " digits of 0 to 9 and a to f");
  const std::size_t at = head.find(kChecksumMark);
  source.check(
      at != std::string::npos &&
          head.compare(at + kChecksumMark.size(), kChecksumDigits, expected) == 0,
      "its header was rewritten by a program that formats JSON differently, so that tenon.checksum "
      "cannot be compared");
  std::fill_n(head.begin() + static_cast<std::ptrdiff_t>(at + kChecksumMark.size()),
              kChecksumDigits, '0');
  return crc32(0, head.data(), head.size());
}

void check_sum(const Source& source, const std::string& expected, uint32_t crc) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (std::size_t i = 0; i < kChecksumDigits; ++i) {
    source.check(expected[i] == kHex[crc >> (28 - 4 * i) & 15],
                 "is corrupt: its checksum differs from that of its content");
  }
}

// The strided view, if every element that it reaches is inside the base.
Tensor make_view(const Source& source, const std::string& where, const Tensor& base,
                 const Json& v) {
  auto shape = read_integers(source, where + ": shape", v.find("shape"));
  auto strides = read_integers(source, where + ": strides", v.find("strides"));
  uint64_t start = read_unsigned(source, where + ": offset", v.find("offset"));
  source.check(start <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()), where,
               ": offset has a value that is too large");
  auto offset = static_cast<int64_t>(start);
  source.check(shape.size() == strides.size(), where, ": shape and strides differ in length");
  checked_bytes(source, where, shape, base.scalar_type());
  int64_t last = offset;
  bool hollow = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (std::size_t d = 0; d < shape.size() && !hollow; ++d) {
    int64_t reach;
    source.check(!__builtin_mul_overflow(shape[d] - 1, strides[d], &reach) &&
                     !__builtin_add_overflow(last, reach, &last),
                 where, ": strides too large");
  }
  source.check(hollow ? offset <= base.numel() : last < base.numel(), where,
               " reaches outside of its storage");
  return base.as_strided(shape, strides, offset);
}

// Same values, in memory in the order of the strides.
Tensor restride(const Source& source, const std::string& where, const Tensor& t,
                const Json& strides_of) {
  auto strides = read_integers(source, where + ": strides", &strides_of);
  source.check(strides.size() == static_cast<std::size_t>(t.dim()), where,
               ": as many strides as sizes expected");
  if (t.numel() == 0) return t;
  Tensor out =
      empty({t.numel()}, t.options()).as_strided(t.sizes(), compact_strides(t.sizes(), strides));
  out.copy_(t);
  return out;
}

int open_layout(const Source& source, const std::string& where, const std::string& name) {
  try {
    return core::usable_layout(name);
  } catch (const ValueError& e) {
    source.check(false, where, " has the layout '", name.substr(0, 80), "': ", e.what());
  }
  return 0;
}

// The entries that a tensor is made of, in the layout's order.
std::vector<Tensor> find_components(const Source& source, const std::string& where, const Json& v,
                                    int layout, const Content& content,
                                    std::set<std::string>& used) {
  const auto& given =
      expect<Json::Object>(source, v.find("components"), where + ": components", "not an object");
  const auto& names = core::layout_components(layout);
  source.check(given.size() == names.size(), where, ": layout ", core::layout_name(layout), " has ",
               names.size(), " components, the file names ", given.size());
  std::vector<Tensor> parts;
  for (const auto& name : names) {
    const Json* entry = v.find("components")->find(name);
    source.check(entry, where, " lacks the component '", name, "'");
    const auto& key =
        expect<std::string>(source, entry, where + ": component '" + name + "'", "not a name");
    const auto it = content.tensors.find(key);
    source.check(it != content.tensors.end() && it->second.layout() == kStrided, where,
                 ": component '", name, "' is not in the file");
    parts.push_back(it->second);
    used.insert(key);
  }
  return parts;
}

// A tensor with a layout of its own. Its plugin checks what the components hold.
Tensor assemble(const Source& source, const std::string& where, const Json& v,
                const Content& content, std::set<std::string>& used) {
  const auto& name =
      expect<std::string>(source, v.find("layout"), where + ": layout", "not a string");
  const int layout = open_layout(source, where, name);
  source.check(layout != 0, where, ": a strided tensor has no components");
  const std::vector<Tensor> parts = find_components(source, where, v, layout, content, used);
  const auto& flags = core::layout_flags(layout);
  int64_t flag_bits = 0;
  for (const auto& f :
       expect<Json::Array>(source, v.find("flags"), where + ": flags", "not a list")) {
    const auto& flag = expect<std::string>(source, &f, where + ": a flag", "not a string");
    const auto at = std::find(flags.begin(), flags.end(), flag);
    source.check(at != flags.end(), where, ": layout ", name, " has no flag '", flag.substr(0, 80),
                 "'");
    flag_bits |= int64_t{1} << (at - flags.begin());
  }
  const auto shape = read_integers(source, where + ": shape", v.find("shape"));
  try {
    return tenon::_from_components(parts, shape, flag_bits, static_cast<Layout>(layout));
  } catch (const ValueError& e) {
    source.check(false, where, ": ", e.what());
  } catch (const TypeError& e) {
    source.check(false, where, ": ", e.what());
  }
  return {};
}

// When every view is made: a component may be one.
void read_layouts(const Source& source, const Json::Object& members, Content& content) {
  std::set<std::string> used;
  std::map<std::string, Tensor> made;
  for (const auto& [name, v] : members) {
    if (!v.find("layout")) continue;
    const std::string where = "tenon.tensors: '" + name.substr(0, 80) + "'";
    source.check(!content.taken(name), where, " is also a strided tensor");
    made.emplace(name, assemble(source, where, v, content, used));
  }
  for (const auto& key : used) content.tensors.erase(key);
  content.tensors.merge(made);
}

void read_extras(const Source& source, const Json& extra, Content& content) {
  const auto& members = expect<Json::Object>(source, &extra, "tenon.tensors", "not an object");
  for (const auto& [name, v] : members) {
    std::string where = "tenon.tensors: '" + name + "'";
    source.check(v.as<Json::Object>(), where, " is not an object");
    if (v.find("layout")) continue;
    if (const Json* of = v.find("of")) {
      auto* base_name = of->as<std::string>();
      source.check(base_name && !content.tensors.count(name), where,
                   " is not a view of another tensor");
      auto base = content.tensors.find(*base_name);
      source.check(base != content.tensors.end() && base->second.is_contiguous(), where,
                   " is a view of a tensor that is not there");
      content.tensors[name] = make_view(source, where, base->second, v);
    } else {
      auto it = content.tensors.find(name);
      source.check(it != content.tensors.end(), where, " is not in the file");
      if (const Json* strides = v.find("strides"))
        it->second = restride(source, where, it->second, *strides);
    }
  }
  read_layouts(source, members, content);
  for (const auto& [name, v] : members) {
    const Json* wanted = v.find("requires_grad");
    const bool* flag = wanted ? wanted->as<bool>() : nullptr;
    if (!flag || !*flag) continue;
    const auto it = content.tensors.find(name);
    source.check(it != content.tensors.end(), "tenon.tensors: '", name,
                 "' is a component of another tensor");
    Tensor& t = it->second;
    source.check(isFloatingType(t.scalar_type()) || isComplexType(t.scalar_type()),
                 "tenon.tensors: '", name, "' of dtype ", dtype_name(t.scalar_type()),
                 " cannot require grad");
    t = t.detach().requires_grad_(true);
  }
}

// Every value of the metadata is a string: checked before.
std::optional<Json> metadata_part(const Source& source, const Json& meta, const char* name) {
  const Json* text = meta.find(name);
  if (!text) return std::nullopt;
  return parse(source, name, *text->as<std::string>());
}

// `t` where the map has it.
Tensor placed(const Source& source, const std::string& name, const Tensor& t,
              const std::optional<Json>& extras, const DeviceMap& map) {
  const Json* extra = extras ? extras->find(name.c_str()) : nullptr;
  const Json* device = extra ? extra->find("device") : nullptr;
  const std::string* saved = device ? device->as<std::string>() : nullptr;
  const std::string location = saved ? *saved : "cpu";
  try {
    return t.to(map.place(location));
  } catch (const Error& e) {
    core::throw_error(e.code(), core::join("load: ", source.name, ": '", name, "', saved from ",
                                           location, ": ", e.msg()));
  }
}

void read_metadata(const Source& source, const Json& meta, Content& content) {
  if (auto values = metadata_part(source, meta, "tenon.values")) {
    for (const auto& [key, v] :
         expect<Json::Object>(source, &*values, "tenon.values", "not an object")) {
      std::optional<IValue> value = value_from_json(v);
      source.check(value.has_value(), "tenon.values: '", key,
                   "' is not one kind that is known and a value of it");
      content.values[key] = std::move(*value);
    }
  }
  if (auto names = metadata_part(source, meta, "tenon.archives")) {
    for (const auto& n : expect<Json::Array>(source, &*names, "tenon.archives", "not a list")) {
      content.archives.insert(
          expect<std::string>(source, &n, "tenon.archives: a name", "not a string"));
    }
  }
}

void drop_hidden(Content& content) {
  auto it = content.tensors.lower_bound(std::string(kHiddenPrefix));
  while (it != content.tensors.end() &&
         it->first.compare(0, kHiddenPrefix.size(), kHiddenPrefix) == 0) {
    it = content.tensors.erase(it);
  }
}

constexpr std::size_t kHeadLength = 8;  // bytes that say how long the header is

// The length and the header.
std::string read_head(const Source& source, const Input& input) {
  source.check(input.size >= kHeadLength, "is not a safetensors file: it has ", input.size,
               " bytes, fewer than the ", kHeadLength, " of the header's length");
  std::string head(kHeadLength, '\0');
  input.read(head.data(), kHeadLength);
  uint64_t length = 0;
  for (std::size_t i = kHeadLength; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(head[i]);
  source.check(length <= kMaxHeader, "is not a safetensors file, or its header of ", length,
               " bytes exceeds the limit of ", kMaxHeader);
  source.check(length <= input.size - kHeadLength, "is truncated: its header has ", length,
               " bytes, only ", input.size - kHeadLength, " are there");
  head.resize(kHeadLength + static_cast<std::size_t>(length));
  input.read(head.data() + kHeadLength, static_cast<std::size_t>(length));
  source.check(length > 0 && head[kHeadLength] == '{',
               "is not a safetensors file: its header does not begin with '{'");
  return head;
}

}  // namespace

std::optional<std::string_view> format_name(ScalarType t) {
  for (const auto& d : kDtypes) {
    if (d.type == t) return d.name;
  }
  return std::nullopt;
}

std::optional<ScalarType> from_format_name(std::string_view name) {
  for (const auto& d : kDtypes) {
    if (d.name == name) return d.type;
  }
  return std::nullopt;
}

std::vector<int64_t> compact_strides(IntArrayRef sizes, IntArrayRef strides) {
  std::vector<std::size_t> dims(sizes.size());
  for (std::size_t d = 0; d < dims.size(); ++d) dims[d] = d;
  std::stable_sort(dims.begin(), dims.end(),
                   [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  std::vector<int64_t> out(dims.size());
  int64_t step = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    out[dims[i]] = step;
    step *= std::max<int64_t>(sizes[dims[i]], 1);
  }
  return out;
}

Content read_safetensors(const Input& input, const DeviceMap& map) {
  const Source source{input.name};
  const std::string head = read_head(source, input);
  const Json header = parse(source, "its header", std::string_view(head).substr(kHeadLength));
  const Json* given = header.find("__metadata__");
  const Json none = Json::Object();
  const Json& meta = given ? *given : none;
  for (const auto& [key, v] :
       expect<Json::Object>(source, &meta, "__metadata__", "not an object")) {
    expect<std::string>(source, &v, "__metadata__: '" + key + "'", "not a string");
  }
  const auto entries = parse_entries(source, *header.as<Json::Object>(), input.size - head.size());
  const Json* checksum = meta.find("tenon.checksum");
  Reader reader(input, head.size());
  if (checksum) {
    reader.sum_from(sum_of_head(source, *checksum->as<std::string>(), head));
  } else {
    source.check(!meta.find("tenon.format"), "is corrupt: it has lost its checksum");
  }
  Content content;
  const auto extras = metadata_part(source, meta, "tenon.tensors");
  for (const auto& e : entries) {
    const Tensor t = make_tensor(e, reader);
    content.tensors.emplace(e.name, placed(source, e.name, t, extras, map));
  }
  if (checksum) check_sum(source, *checksum->as<std::string>(), reader.sum());
  if (extras) read_extras(source, *extras, content);
  read_metadata(source, meta, content);
  drop_hidden(content);
  return content;
}

}  // namespace tenon::serialize::detail
