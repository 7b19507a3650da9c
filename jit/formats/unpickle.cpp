// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/unpickler.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tenon::jit::formats {
namespace {

IValue special(const char* cls, std::string name) {
  return core::Ref<ivalue::Enum>::adopt(new ivalue::Enum(cls, std::move(name), IValue()));
}

// Quantized dtypes and schemes by torch's numbers.
std::optional<int64_t> quantized_number(const std::string& name) {
  static const std::map<std::string, int64_t> kNumbers = {
      {"qint8", 12},
      {"quint8", 13},
      {"qint32", 14},
      {"per_tensor_affine", 0},
      {"per_channel_affine", 1},
      {"per_tensor_symmetric", 2},
      {"per_channel_symmetric", 3},
      {"per_channel_affine_float_qparams", kFloatScheme}};
  const auto it = kNumbers.find(name);
  return it == kNumbers.end() ? std::nullopt : std::optional<int64_t>(it->second);
}

// Of "float32" in torch.float32. Other names of the module are those of classes, and no reason to
// open the plugins that may provide one.
std::optional<ScalarType> built_in_dtype(const std::string& name) {
  const auto is_named = [&](ScalarType t) { return core::dtype_info(t).name == name; };
  const auto built =
      std::find_if(std::begin(core::kBuiltInDtypes), std::end(core::kBuiltInDtypes), is_named);
  if (built != std::end(core::kBuiltInDtypes)) return *built;
  const auto stored =
      std::find_if(std::begin(core::kStorageDtypes), std::end(core::kStorageDtypes), is_named);
  return stored == std::end(core::kStorageDtypes) ? std::nullopt : std::optional(*stored);
}

}  // namespace

bool is_global(const IValue& v) { return v.isEnum() && v.toEnumRef().class_name == kGlobalClass; }
bool is_unbuilt(const IValue& v) { return v.isEnum() && v.toEnumRef().class_name == kObjectClass; }

std::string Unpickler::where() const {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string op = {'0', 'x', kHex[op_ >> 4], kHex[op_ & 15]};
  if (op_ > ' ' && op_ < 0x7f) op = std::string("'") + static_cast<char>(op_) + "'";
  return core::join("opcode ", op, " at byte ", op_at_, ": ");
}

std::string_view Unpickler::take(uint64_t n) {
  check(n <= bytes_.size() - at_, "needs ", n, " bytes, the pickle ends after ",
        bytes_.size() - at_);
  const std::string_view out = bytes_.substr(at_, n);
  at_ += n;
  return out;
}

uint64_t Unpickler::take_number(int bytes) {
  const std::string_view p = take(static_cast<uint64_t>(bytes));
  uint64_t v = 0;
  for (std::size_t i = p.size(); i-- > 0;) v = v << 8 | static_cast<uint8_t>(p[i]);
  return v;
}

std::string Unpickler::take_line() {
  const std::size_t end = bytes_.find('\n', at_);
  check(end != std::string_view::npos, "its line does not end");
  check(end - at_ < 4096, "its line is too long");
  const std::string out(take(end - at_));
  ++at_;
  return out;
}

// Little-endian, two's complement, of any length.
IValue Unpickler::take_long(uint64_t n) {
  check(n <= 8, "an integer of ", n, " bytes is too large");
  uint64_t v = n == 0 ? 0 : take_number(static_cast<int>(n));
  if (n > 0 && n < 8 && (v >> (8 * n - 1) & 1)) v |= ~uint64_t{0} << (8 * n);
  return static_cast<int64_t>(v);
}

IValue Unpickler::pop() {
  check(stack_.size() > (marks_.empty() ? 0 : marks_.back()), "the stack is empty");
  IValue v = std::move(stack_.back());
  stack_.pop_back();
  return v;
}

IValue& Unpickler::top() {
  check(stack_.size() > (marks_.empty() ? 0 : marks_.back()), "the stack is empty");
  return stack_.back();
}

std::vector<IValue> Unpickler::pop_to_mark() {
  check(!marks_.empty(), "there is no mark on the stack");
  const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<IValue> out(std::make_move_iterator(from), std::make_move_iterator(stack_.end()));
  stack_.erase(from, stack_.end());
  marks_.pop_back();
  return out;
}

Unpickler::Extent Unpickler::extent(const IValue& v) const {
  const void* p = v.container();
  if (!p) return {};
  const auto it = extents_.find(p);
  if (it != extents_.end()) return it->second;
  Extent flat;  // those without containers inside are not listed
  if (v.isTuple()) flat.elements += v.toTupleRef().size();
  if (v.isList()) flat.elements += v.toListRef().items.size();
  if (v.isGenericDict()) flat.elements += v.toDictRef().size() * 2;
  return flat;
}

Unpickler::Extent& Unpickler::open(const IValue& v) {
  Extent& e = extents_[v.container()];
  e = {};
  e.open = true;
  return e;
}

// Makes `part` a part of a value of the extent `whole`.
void Unpickler::join_extents(Extent& whole, const IValue& part, bool in_tuple) {
  check(!is_unbuilt(part), "an object is used before its state is read");
  if (is_global(part)) {
    check(in_tuple, "the name ", part.toEnumRef().name, " is used as a value");
    whole.has_global = true;
    return;
  }
  const void* p = part.container();
  const Extent e = extent(part);
  check(!e.has_global, "a name is used as a value");
  whole.depth = std::max(whole.depth, p ? e.depth + 1 : 1);
  whole.elements += p ? e.elements : 1;
  check(whole.depth <= kMaxNesting, "values are nested more than ", kMaxNesting, " deep");
  check(whole.elements <= kMaxElements, "a value has more than ", kMaxElements, " elements");
  if (!p) return;
  const auto it = extents_.find(p);
  if (it == extents_.end()) return;
  it->second.open = false;
  if (e.depth == 1 && !part.isObject()) extents_.erase(it);
}

// A value that leaves the machine.
void Unpickler::finish_value(const IValue& v) {
  Extent e;
  join_extents(e, v, false);
}

// Before a walk over the value.
void Unpickler::spend(const IValue& v) {
  spent_ += extent(v).elements;
  check(spent_ <= kFreeElements + kElementsPerByte * bytes_.size(), "the values have more than ",
        spent_, " elements, too many for a pickle of its size");
}

IValue Unpickler::make_tuple(std::vector<IValue> items) {
  Extent e;
  for (const IValue& v : items) join_extents(e, v, true);
  IValue out(core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(items))));
  extents_.erase(out.container());
  if (e.depth > 1 || e.has_global) extents_[out.container()] = e;
  return out;
}

IValue Unpickler::make_list() {
  IValue out(core::Ref<ivalue::List>::adopt(new ivalue::List));
  open(out);
  return out;
}

IValue Unpickler::make_dict() {
  IValue out(core::Ref<ivalue::Dict>::adopt(new ivalue::Dict));
  open(out);
  return out;
}

void Unpickler::append(const IValue& list, std::vector<IValue> items) {
  check(list.isList(), "appends to ", list.tagKind());
  const auto it = extents_.find(list.container());
  check(it != extents_.end() && it->second.open,
        "appends to a list that is a part of another value already");
  auto& to = list.toListRef().items;
  for (IValue& v : items) {
    check(!v.is(list), "a list contains itself");
    Extent& e = extents_.at(list.container());
    join_extents(e, v, false);
    to.push_back(std::move(v));
  }
}

void Unpickler::set_items(const IValue& dict, std::vector<IValue> items) {
  check(dict.isGenericDict(), "sets items of ", dict.tagKind());
  check(items.size() % 2 == 0, "a key has no value");
  const auto it = extents_.find(dict.container());
  check(it != extents_.end() && it->second.open,
        "sets items of a dictionary that is a part of another value already");
  for (std::size_t i = 0; i < items.size(); i += 2) {
    IValue &k = items[i], &v = items[i + 1];
    check(k.isString() || k.isInt() || k.isDouble() || k.isBool() || k.isComplexDouble() ||
              k.isTensor(),
          "a key of a dictionary is ", k.tagKind());
    check(!v.is(dict), "a dictionary contains itself");
    Extent& e = extents_.at(dict.container());
    join_extents(e, k, false);
    join_extents(e, v, false);
    dict.toDictRef().insert_or_assign(std::move(k), std::move(v));
  }
}

void Unpickler::remember(uint64_t key) {
  const IValue& v = top();
  memo_[key] = v;
}

void Unpickler::recall(uint64_t key) {
  const auto it = memo_.find(key);
  check(it != memo_.end(), "nothing is remembered under ", key);
  if (is_unbuilt(it->second)) {
    const IValue& built = it->second.toEnumRef().value;
    check(!built.isNone(), "an object refers to itself");
    push(built);
  } else {
    push(it->second);
  }
}

void Unpickler::global(const std::string& module, const std::string& name) {
  check(!module.empty() && !name.empty(), "an empty name");
  const std::string full = module + "." + name;
  if (module == "torch") {
    if (const std::optional<int64_t> number = quantized_number(name)) return push(*number);
    if (const std::optional<ScalarType> dtype = built_in_dtype(name)) return push(*dtype);
  }
  push(special(kGlobalClass, full));
}

void Unpickler::new_object() {
  const IValue args = pop(), cls = pop();
  check(is_global(cls) && args.isTuple(), "makes an object of ", cls.tagKind());
  const std::string& name = cls.toEnumRef().name;
  if (name.rfind("__torch__.", 0) != 0) return push(call(name, args.toTupleRef().items));
  check(args.toTupleRef().size() == 0, "the class ", name, " takes no arguments here");
  push(special(kObjectClass, name));
}

void Unpickler::reduce() {
  const IValue args = pop(), callee = pop();
  check(is_global(callee), "calls ", callee.tagKind());
  // Enums are written with their value alone.
  push(call(callee.toEnumRef().name,
            args.isTuple() ? args.toTupleRef().items : std::vector<IValue>{args}));
}

void Unpickler::build() {
  const IValue state = pop();
  finish_value(state);
  spend(state);
  IValue& object = top();
  if (object.isGenericDict()) return;  // attributes of an OrderedDict: state dictionaries have some
  check(is_unbuilt(object) && object.toEnumRef().value.isNone(), "gives a state to ",
        object.tagKind());
  const std::string cls = object.toEnumRef().name;
  check(static_cast<bool>(hooks_.build_object), "objects are not expected here: ", cls);
  IValue built = hooks_.build_object(cls, state);
  Extent e;
  join_extents(e, state, false);
  e.elements = 1;
  if (const void* p = built.container()) extents_[p] = e;
  IValue& now = top();
  now.toEnumRef().value = built;
  now = std::move(built);
}

void Unpickler::persistent() {
  const IValue id = pop();
  check(id.isTuple(), "a persistent id is ", id.tagKind());
  const auto& parts = id.toTupleRef().items;
  check(parts.size() >= 5 && parts.size() <= 6 && parts[0].isString() &&
            parts[0].toStringRef() == "storage" && is_global(parts[1]) && parts[2].isString() &&
            parts[3].isString() && parts[4].isInt() && parts[4].toInt() >= 0,
        "a persistent id is not (\"storage\", type, key, location, size)");
  std::string type = parts[1].toEnumRef().name;
  check(type.rfind("torch.", 0) == 0, type, " is not a kind of storage");
  type = type.substr(type.rfind('.') + 1);
  check(static_cast<bool>(hooks_.load_storage), "storages are not expected here");
  push(hooks_.load_storage(type, parts[2].toStringRef(), parts[3].toStringRef(), parts[4].toInt()));
}

IValue Unpickler::run() {
  while (step()) {
  }
  IValue out = pop();
  finish_value(out);
  check(stack_.empty() && marks_.empty(), "ends with ", stack_.size(), " more values on the stack");
  return out;
}

IValue unpickle(std::string_view bytes, const UnpickleHooks& hooks) {
  return Unpickler(bytes, hooks).run();
}

IValue unpickle_first(std::string_view* bytes, const UnpickleHooks& hooks) {
  Unpickler machine(*bytes, hooks);
  IValue out = machine.run();
  bytes->remove_prefix(machine.position());
  return out;
}

}  // namespace tenon::jit::formats
