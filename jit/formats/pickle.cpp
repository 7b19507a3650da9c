// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/pickle.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "jit/formats/zip_layout.h"
#include "tenon/quantized.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

constexpr int kMaxDepth = 512;

class Pickler {
 public:
  explicit Pickler(const PickleHooks& hooks) : hooks_(hooks) {}
  std::string run(const IValue& v) {
    out_ = "\x80\x02";
    write(v);
    return out_ + ".";
  }

 private:
  void write(const IValue& v);
  void write_int(int64_t v);
  void write_double(double v);
  void write_complex(std::complex<double> v);
  void write_text(const std::string& v);
  void write_tensor(const Tensor& t);
  void write_strided(const Tensor& t);
  void write_storage(const std::string& module, const std::string& kind, const Tensor& t,
                     std::size_t item);
  void write_quantized(const Tensor& t);
  void write_sparse(const Tensor& t);
  void write_sizes(IntArrayRef v);
  void write_list(const ivalue::List& list, const IValue& v);
  void write_dict(const ivalue::Dict& dict, const IValue& v);
  void write_tuple(const std::vector<IValue>& items);
  void write_object(const ivalue::Object& object);
  void write_global(const std::string& module, const std::string& name);
  void write_class(const std::string& name);
  void finish_tag(const IValue& v);
  // True where it was written before; it then stands on the stack.
  bool recall(const void* what);
  void remember(const void* what);
  void put();
  uint32_t next_ = 0;
  std::string out_;
  const PickleHooks& hooks_;
  std::unordered_map<const void*, uint32_t> memo_;
  std::unordered_map<std::string, uint32_t> names_, texts_;
  std::unordered_set<const void*> open_;  // containers that are being written
  std::vector<IValue> alive_;             // whose addresses the memo has
};

void get(std::string& out, uint32_t key) {
  out += key < 256 ? 'h' : 'j';
  put_number(out, key, key < 256 ? 1 : 4);
}

void Pickler::put() {
  out_ += next_ < 256 ? 'q' : 'r';
  put_number(out_, next_, next_ < 256 ? 1 : 4);
  ++next_;
}

bool Pickler::recall(const void* what) {
  const auto it = memo_.find(what);
  if (it != memo_.end()) {
    get(out_, it->second);
    return true;
  }
  TENON_CHECK(open_.insert(what).second, ValueError, "save: a value contains itself");
  TENON_CHECK(open_.size() <= kMaxDepth, ValueError, "save: values are nested more than ",
              kMaxDepth, " deep");
  return false;
}

void Pickler::remember(const void* what) {
  open_.erase(what);
  memo_[what] = next_;
  put();
}

void Pickler::write_int(int64_t v) {
  if (v >= 0 && v < 65536) {
    out_ += v < 256 ? 'K' : 'M';
    put_number(out_, static_cast<uint64_t>(v), v < 256 ? 1 : 2);
  } else if (v >= INT32_MIN && v <= INT32_MAX) {
    out_ += 'J';
    put_number(out_, static_cast<uint64_t>(v), 4);
  } else {
    out_ += "\x8a\x08";
    put_number(out_, static_cast<uint64_t>(v), 8);
  }
}

void Pickler::write_double(double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  out_ += 'G';
  for (int shift = 56; shift >= 0; shift -= 8) out_ += static_cast<char>(bits >> shift & 0xff);
}

void Pickler::write_complex(std::complex<double> v) {
  write_global("builtins", "complex");
  out_ += '(';
  write_double(v.real());
  write_double(v.imag());
  out_ += "tR";
}

void Pickler::write_text(const std::string& v) {
  const auto [it, fresh] = texts_.emplace(v, next_);
  if (!fresh) return get(out_, it->second);
  TENON_CHECK(v.size() <= UINT32_MAX, ValueError, "save: a text of ", v.size(), " bytes");
  out_ += 'X';
  put_number(out_, v.size(), 4);
  out_ += v;
  put();
}

void Pickler::write_global(const std::string& module, const std::string& name) {
  const std::string line = "c" + module + "\n" + name + "\n";
  const auto [it, fresh] = names_.emplace(line, next_);
  if (!fresh) return get(out_, it->second);
  out_ += line;
  put();
}

void Pickler::write_class(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  TENON_CHECK(dot != std::string::npos && name.find('\n') == std::string::npos, ValueError,
              "save: the class name '", name, "' has no module");
  write_global(name.substr(0, dot), name.substr(dot + 1));
}

void Pickler::write_sizes(IntArrayRef v) {
  out_ += '(';
  for (int64_t n : v) write_int(n);
  out_ += 't';
}

void Pickler::write_tensor(const Tensor& t) {
  if (!t.defined()) return void(out_ += 'N');
  if (recall(t.unsafeGetTensorImpl())) return;
  const auto parameter = hooks_.parameter ? hooks_.parameter(t) : std::nullopt;
  if (parameter) {
    write_global("torch._utils", "_rebuild_parameter");
    out_ += '(';
  }
  if (is_quantized(t))
    write_quantized(t);
  else if (t.is_sparse() && !hooks_.plain)
    write_sparse(t);
  else
    write_strided(t);
  if (parameter) {
    out_ += *parameter ? '\x88' : '\x89';
    write_global("collections", "OrderedDict");
    out_ += ")RtR";
  }
  remember(t.unsafeGetTensorImpl());
}

void Pickler::write_strided(const Tensor& t) {
  TENON_CHECK(t.layout() == kStrided, NotImplementedError,
              "save: tensors of a layout other than strided are not supported in archives");
  // torch.save has no storages of the storage-only dtypes: bytes, and the dtype beside them.
  // Archives of programs have, and torch.jit.load knows no other way.
  const bool typed =
      hooks_.plain && std::find(std::begin(core::kStorageDtypes), std::end(core::kStorageDtypes),
                                t.scalar_type()) != std::end(core::kStorageDtypes);
  const std::size_t item = typed ? 1 : elementSize(t.scalar_type());
  write_global("torch._utils", typed ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
  out_ += '(';
  write_storage(typed ? "torch.storage" : "torch",
                typed ? "UntypedStorage" : storage_type(t.scalar_type()), t, item);
  out_ += t.requires_grad() ? '\x88' : '\x89';
  write_global("collections", "OrderedDict");
  out_ += ")R";
  if (typed) write_global("torch", std::string(dtype_name(t.scalar_type())));
  out_ += "tR";
}

// The storage, and where the tensor lies in it.
void Pickler::write_storage(const std::string& module, const std::string& kind, const Tensor& t,
                            std::size_t item) {
  TENON_CHECK(static_cast<bool>(hooks_.save_storage), ValueError, "save: a tensor has no place");
  out_ += '(';
  write_text("storage");
  write_global(module, kind);
  write_text(hooks_.save_storage(t));
  write_text(t.device().str());
  write_int(static_cast<int64_t>(t.unsafeGetTensorImpl()->storage->bytes / item));
  out_ += "tQ";
  write_int(t.storage_offset());
  write_sizes(t.sizes());
  write_sizes(t.strides());
}

void Pickler::write_quantized(const Tensor& t) {
  const Tensor integers = int_repr(t);
  alive_.emplace_back(integers);
  const ScalarType dtype = quantized_dtype(t);
  write_global("torch._utils", "_rebuild_qtensor");
  out_ += '(';
  write_storage("torch",
                dtype == kQInt8    ? "QInt8Storage"
                : dtype == kQUInt8 ? "QUInt8Storage"
                                   : "QInt32Storage",
                integers, elementSize(integers.scalar_type()));
  out_ += '(';
  if (is_quantized_per_channel(t)) {
    const bool reals = isFloatingType(q_per_channel_zero_points(t).scalar_type());
    write_global("torch", reals ? "per_channel_affine_float_qparams" : "per_channel_affine");
    write_tensor(q_per_channel_scales(t));
    write_tensor(q_per_channel_zero_points(t));
    write_int(q_per_channel_axis(t));
  } else {
    write_global("torch", "per_tensor_affine");
    write_double(q_scale(t));
    write_int(q_zero_point(t));
  }
  out_ += "t\x89";
  write_global("collections", "OrderedDict");
  out_ += ")RtR";
}

// (layout, size, requires_grad, indices, values), which torch.jit knows alone.
void Pickler::write_sparse(const Tensor& t) {
  const Tensor parts[] = {t._indices(), t._values()};
  write_global("torch._utils", "_rebuild_sparse_tensor");
  out_ += '(';
  write_int(static_cast<int64_t>(t.layout()));
  write_sizes(t.sizes());
  out_ += t.requires_grad() ? '\x88' : '\x89';
  for (const Tensor& part : parts) {
    alive_.emplace_back(part);
    write_strided(part.detach());
  }
  write_global("collections", "OrderedDict");
  out_ += ")RtR";
}

// After a container on whose name restore_type_tag stands.
void Pickler::finish_tag(const IValue& v) {
  const TypePtr type = type_of(v);
  write_text(hooks_.annotation ? hooks_.annotation(type) : type->annotation());
  out_ += "\x86R";
}

void Pickler::write_list(const ivalue::List& list, const IValue& v) {
  if (recall(&list)) return;
  if (hooks_.plain) {
    out_ += "](";
    for (const IValue& item : list.items) write(item);
    out_ += 'e';
    return remember(&list);
  }
  const char* builder = v.isIntList()             ? "build_intlist"
                        : v.isDoubleList()        ? "build_doublelist"
                        : v.isBoolList()          ? "build_boollist"
                        : v.isComplexDoubleList() ? "build_complexlist"
                        : v.isTensorList()        ? "build_tensorlist"
                                                  : nullptr;
  write_global("torch.jit._pickle", builder ? builder : "restore_type_tag");
  out_ += builder ? "(](" : "](";
  for (const IValue& item : list.items) write(item);
  out_ += 'e';
  if (builder)
    out_ += "tR";
  else
    finish_tag(v);
  remember(&list);
}

void Pickler::write_dict(const ivalue::Dict& dict, const IValue& v) {
  if (recall(&dict)) return;
  if (!hooks_.plain) write_global("torch.jit._pickle", "restore_type_tag");
  out_ += "}(";
  for (const auto& [key, value] : dict.items()) {
    write(key);
    write(value);
  }
  out_ += 'u';
  if (!hooks_.plain) finish_tag(v);
  remember(&dict);
}

void Pickler::write_tuple(const std::vector<IValue>& items) {
  if (items.empty()) return void(out_ += ')');
  if (items.size() > 3) out_ += '(';
  for (const IValue& item : items) write(item);
  out_ += items.size() > 3 ? 't' : static_cast<char>(0x84 + items.size());
}

void Pickler::write_object(const ivalue::Object& object) {
  if (recall(&object)) return;
  write_class(hooks_.class_name ? hooks_.class_name(object) : object.name());
  out_ += ")\x81";
  if (std::optional<IValue> state = hooks_.state ? hooks_.state(object) : std::nullopt) {
    alive_.push_back(*state);
    write(*state);
  } else {
    out_ += "}(";
    for (std::size_t i = 0; i < object.slots.size(); ++i) {
      write_text(object.type->slot_name(static_cast<int>(i)));
      write(object.slots[i]);
    }
    out_ += 'u';
  }
  out_ += 'b';
  remember(&object);
}

void Pickler::write(const IValue& v) {
  switch (v.tag()) {
    case IValue::Tag::None:
      out_ += 'N';
      return;
    case IValue::Tag::Tensor:
      return write_tensor(v.toTensor());
    case IValue::Tag::Double:
      return write_double(v.toDouble());
    case IValue::Tag::ComplexDouble:
      return write_complex(v.toComplexDouble());
    case IValue::Tag::Int:
      return write_int(v.toInt());
    case IValue::Tag::Bool:
      out_ += v.toBool() ? '\x88' : '\x89';
      return;
    case IValue::Tag::String:
      return write_text(v.toStringRef());
    case IValue::Tag::Device:
      write_global("torch", "device");
      write_text(v.toDevice().str());
      out_ += "\x85R";
      return;
    case IValue::Tag::List:
      return write_list(v.toListRef(), v);
    case IValue::Tag::Dict:
      return write_dict(v.toDictRef(), v);
    case IValue::Tag::Tuple:
      if (recall(&v.toTupleRef())) return;
      write_tuple(v.toTupleRef().items);
      return remember(&v.toTupleRef());
    case IValue::Tag::Object:
      return write_object(v.toObjectRef());
    case IValue::Tag::Enum:
      write_class(hooks_.enum_name ? hooks_.enum_name(v.toEnumRef()) : v.toEnumRef().class_name);
      write(v.toEnumRef().value);
      out_ += 'R';  // torch reads no tuple here
      return;
    default:
      throw NotImplementedError(core::join("save: ", v.tagKind(), " cannot be saved"));
  }
}

}  // namespace

std::string pickle(const IValue& v, const PickleHooks& hooks) { return Pickler(hooks).run(v); }

}  // namespace tenon::jit::formats
