// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/compile/kind.h"

#include <algorithm>
#include <cstring>

#include "tenon/autograd/mode.h"

namespace tenon::jit::compiled {
namespace {

bool add(const IValue& v, ArgumentsKind& kind) {
  kind.key.push_back(static_cast<int64_t>(v.tag()));
  switch (v.tag()) {
    case IValue::Tag::None:
      return true;
    case IValue::Tag::Bool:
      kind.key.push_back(v.toBool() ? 1 : 0);
      return true;
    case IValue::Tag::Int:
      kind.key.push_back(v.toInt());
      return true;
    case IValue::Tag::Double: {
      int64_t bits = 0;
      const double number = v.toDouble();
      std::memcpy(&bits, &number, sizeof bits);
      kind.key.push_back(bits);
      return true;
    }
    case IValue::Tag::Tensor: {
      const Tensor& t = v.toTensor();
      kind.key.push_back(t.defined() ? t.dim() : -1);
      if (!t.defined()) return true;
      const core::DeviceId device = t.unsafeGetTensorImpl()->device_id;
      kind.key.push_back(static_cast<int64_t>(t.scalar_type()));
      kind.key.push_back(static_cast<int64_t>(t.layout()));
      kind.key.push_back(device.slot);
      kind.key.push_back(device.index);
      kind.key.push_back(t.requires_grad() ? 1 : 0);
      kind.sizes.insert(kind.sizes.end(), t.sizes().begin(), t.sizes().end());
      return true;
    }
    case IValue::Tag::List:
    case IValue::Tag::Tuple: {
      const auto& items = v.isList() ? v.toListRef().items : v.toTupleRef().items;
      kind.key.push_back(static_cast<int64_t>(items.size()));
      return std::all_of(items.begin(), items.end(),
                         [&](const IValue& item) { return add(item, kind); });
    }
    default:
      return false;
  }
}

void add_modes(const nn::Module& m, ArgumentsKind& kind) {
  kind.key.push_back(m.is_training() ? 1 : 0);
  for (const auto& child : m.children()) add_modes(*child, kind);
}

}  // namespace

bool find_kind(const std::vector<IValue>& arguments, const nn::Module* module,
               ArgumentsKind& kind) {
  kind.key.clear();
  kind.sizes.clear();
  kind.key.push_back(autograd::mode());
  if (module) add_modes(*module, kind);
  return std::all_of(arguments.begin(), arguments.end(),
                     [&](const IValue& v) { return add(v, kind); });
}

}  // namespace tenon::jit::compiled
