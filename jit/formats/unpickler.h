// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The machine that runs a pickle: a stack, marks on it, and a memo.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jit/formats/pickle.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {

inline constexpr uint32_t kMaxNesting = 512;  // of lists, dictionaries, tuples and objects
// Elements of a value with what it shares counted each time: what a walk over it takes.
inline constexpr uint64_t kMaxElements = uint64_t{1} << 26;
// Those of all states of objects and of all values with a type, by the bytes of the pickle.
inline constexpr uint64_t kElementsPerByte = 64, kFreeElements = uint64_t{1} << 20;

class Unpickler {
 public:
  Unpickler(std::string_view bytes, const UnpickleHooks& hooks) : bytes_(bytes), hooks_(hooks) {}
  IValue run();
  uint64_t position() const noexcept { return at_; }  // after the last opcode

 private:
  // A container that may still grow is open. It is closed once it is a part of another value: thus
  // no value contains itself, and its depth is known.
  struct Extent {
    uint32_t depth = 1;
    uint64_t elements = 1;
    bool open = false, has_global = false;
  };

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw ValueError(core::join(where(), parts...));
  }
  template <class... Parts>
  void check(bool ok, const Parts&... parts) const {
    if (TENON_UNLIKELY(!ok)) fail(parts...);
  }
  std::string where() const;

  // Reading.
  std::string_view take(uint64_t n);
  uint64_t take_number(int bytes);
  std::string take_line();
  IValue take_long(uint64_t n);

  // The stack.
  void push(IValue v) { stack_.push_back(std::move(v)); }
  IValue pop();
  IValue& top();
  std::vector<IValue> pop_to_mark();

  // Values.
  Extent extent(const IValue& v) const;
  Extent& open(const IValue& v);
  void join_extents(Extent& whole, const IValue& part, bool in_tuple);
  void finish_value(const IValue& v);
  void spend(const IValue& v);
  IValue make_tuple(std::vector<IValue> items);
  IValue make_list();
  IValue make_dict();
  void append(const IValue& list, std::vector<IValue> items);
  void set_items(const IValue& dict, std::vector<IValue> items);

  // Opcodes.
  bool step();  // false after the last
  bool step_value(uint8_t op);
  bool step_container(uint8_t op);
  bool step_memo(uint8_t op);
  void remember(uint64_t key);
  void recall(uint64_t key);
  void global(const std::string& module, const std::string& name);
  void new_object();
  void reduce();
  void build();
  void persistent();

  // Calls of the fixed list.
  using Arguments = const std::vector<IValue>&;
  using Call = IValue (Unpickler::*)(Arguments args);
  static Call find_call(const std::string& name);
  IValue call(const std::string& name, Arguments args);
  IValue rebuild_tensor(Arguments args);
  IValue rebuild_tensor_typed(Arguments args);
  IValue rebuild_quantized(Arguments args);
  IValue rebuild_sparse(Arguments args);
  IValue layout(Arguments args);
  IValue rebuild_parameter(Arguments args);
  IValue ordered_dict(Arguments args);
  IValue typed_list(Arguments args, const TypePtr& element, IValue::Tag tag);
  IValue int_list(Arguments args);
  IValue double_list(Arguments args);
  IValue bool_list(Arguments args);
  IValue tensor_list(Arguments args);
  IValue complex_list(Arguments args);
  IValue complex_number(Arguments args);
  IValue tagged(Arguments args);
  IValue device(Arguments args);
  IValue size(Arguments args);
  IValue encoded(Arguments args);
  Tensor grad_mode(Tensor t, const IValue& requires_grad) const;
  std::vector<int64_t> integers(const IValue& v, const char* what) const;
  const IValue& argument(Arguments args, std::size_t i, IValue::Tag tag) const;

  std::string_view bytes_;
  const UnpickleHooks& hooks_;
  uint64_t at_ = 0, op_at_ = 0, spent_ = 0;
  uint8_t op_ = 0;
  std::vector<IValue> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<uint64_t, IValue> memo_;
  std::unordered_map<const void*, Extent> extents_;
};

// Names on the stack, and objects whose state is not read yet, are enums of classes that no file
// can name.
inline constexpr const char* kGlobalClass = "\x01global";
inline constexpr const char* kObjectClass = "\x01object";
// Schemes of quantized tensors have torch's numbers; one with zero points that are reals is this.
inline constexpr int64_t kFloatScheme = 4;
bool is_global(const IValue& v);
bool is_unbuilt(const IValue& v);

}  // namespace tenon::jit::formats
