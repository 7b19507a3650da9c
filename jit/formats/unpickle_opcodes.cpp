// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which opcode does what; Python's pickletools names them.
#include <cstring>

#include "jit/formats/unpickler.h"

namespace tenon::jit::formats {

bool Unpickler::step_value(uint8_t op) {
  switch (op) {
    case 'N':
      push(IValue());
      return true;
    case 0x88:
    case 0x89:
      push(op == 0x88);
      return true;
    case 'J':
      push(static_cast<int64_t>(static_cast<int32_t>(take_number(4))));
      return true;
    case 'K':
      push(static_cast<int64_t>(take_number(1)));
      return true;
    case 'M':
      push(static_cast<int64_t>(take_number(2)));
      return true;
    case 0x8a:
      push(take_long(take_number(1)));
      return true;
    case 0x8b:
      push(take_long(take_number(4)));
      return true;
    case 'G': {
      const std::string_view p = take(8);
      uint64_t bits = 0;
      for (char c : p) bits = bits << 8 | static_cast<uint8_t>(c);
      double v;
      std::memcpy(&v, &bits, sizeof v);
      push(v);
      return true;
    }
    case 'X':
    case 'T':
    case 'B':
      push(std::string(take(take_number(4))));
      return true;
    case 0x8c:
    case 'U':
    case 'C':
      push(std::string(take(take_number(1))));
      return true;
    case 0x8d:
    case 0x8e:
      push(std::string(take(take_number(8))));
      return true;
    default:
      return false;
  }
}

bool Unpickler::step_container(uint8_t op) {
  switch (op) {
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case ')':
      push(make_tuple({}));
      return true;
    case 0x85:
    case 0x86:
    case 0x87: {
      std::vector<IValue> items(op - 0x84u);
      for (std::size_t i = items.size(); i-- > 0;) items[i] = pop();
      push(make_tuple(std::move(items)));
      return true;
    }
    case 't':
      push(make_tuple(pop_to_mark()));
      return true;
    case ']':
      push(make_list());
      return true;
    case 'l':
    case 'd': {
      std::vector<IValue> items = pop_to_mark();
      IValue v = op == 'l' ? make_list() : make_dict();
      op == 'l' ? append(v, std::move(items)) : set_items(v, std::move(items));
      push(std::move(v));
      return true;
    }
    case '}':
      push(make_dict());
      return true;
    case 'a': {
      std::vector<IValue> one(1);
      one[0] = pop();
      append(top(), std::move(one));
      return true;
    }
    case 'e': {
      std::vector<IValue> items = pop_to_mark();
      append(top(), std::move(items));
      return true;
    }
    case 's': {
      std::vector<IValue> pair(2);
      pair[1] = pop();
      pair[0] = pop();
      set_items(top(), std::move(pair));
      return true;
    }
    case 'u': {
      std::vector<IValue> items = pop_to_mark();
      set_items(top(), std::move(items));
      return true;
    }
    default:
      return false;
  }
}

bool Unpickler::step_memo(uint8_t op) {
  switch (op) {
    case 'q':
    case 'r':
      remember(take_number(op == 'q' ? 1 : 4));
      return true;
    case 0x94:
      remember(memo_.size());
      return true;
    case 'h':
    case 'j':
      recall(take_number(op == 'h' ? 1 : 4));
      return true;
    case '0':
      if (!marks_.empty() && marks_.back() == stack_.size())
        marks_.pop_back();
      else
        (void)pop();
      return true;
    case '1':
      (void)pop_to_mark();
      return true;
    default:
      return false;
  }
}

bool Unpickler::step() {
  op_at_ = at_;
  op_ = 0;
  op_ = static_cast<uint8_t>(take_number(1));
  if (step_value(op_) || step_container(op_) || step_memo(op_)) return true;
  switch (op_) {
    case 0x80: {
      const uint64_t protocol = take_number(1);
      check(protocol >= 2 && protocol <= 5, "protocol ", protocol, "; 2 to 5 are read");
      return true;
    }
    case 0x95:
      check(take_number(8) <= bytes_.size() - at_, "its frame is longer than the pickle");
      return true;
    case 'c': {
      const std::string module = take_line();
      global(module, take_line());
      return true;
    }
    case 0x93: {
      const IValue name = pop(), module = pop();
      check(name.isString() && module.isString(), "a name is not a text");
      global(module.toStringRef(), name.toStringRef());
      return true;
    }
    case 0x81:
      new_object();
      return true;
    case 'R':
      reduce();
      return true;
    case 'b':
      build();
      return true;
    case 'Q':
      persistent();
      return true;
    case '.':
      return false;
    default:
      fail("is not one that archives use");
  }
}

}  // namespace tenon::jit::formats
