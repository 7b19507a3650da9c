// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Ops that plugins register: their gradient is one call of the op that they name for it
// (tn_schema.backward).
#include <deque>

#include "tenon/call/generated.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd {
namespace {

void call_recorded(const core::Op& op, const tn_value* in, core::OwnedValue* out);

// An argument or a result of the forward call, kept for the backward op.
struct Kept {
  tn_value plain{};
  SavedTensor tensor;
  std::deque<SavedTensor> list;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::string text;

  void save(const tn_value& v, const Node& owner) {
    plain = v;
    if (v.tag == TN_TAG_TENSOR) {
      tensor.save(unbox_Tensor(v), owner);
    } else if (v.tag == TN_TAG_TENSOR_LIST) {
      for (const Tensor& t : unbox_TensorList(v)) list.emplace_back().save(t, owner);
    } else if (v.tag == TN_TAG_I64_LIST) {
      ints.assign(v.u.i64s, v.u.i64s + v.len);
      plain.u.i64s = ints.data();
    } else if (v.tag == TN_TAG_F64_LIST) {
      floats.assign(v.u.f64s, v.u.f64s + v.len);
      plain.u.f64s = floats.data();
    } else if (v.tag == TN_TAG_STR) {
      text.assign(v.u.str, v.len);
      plain.u.str = text.data();
    } else if (v.tag >= TN_TAG_BOOL_LIST && v.tag != TN_TAG_TENSOR) {
      throw NotImplementedError(
          "an argument of this type cannot be saved for the gradient of a plugin's op");
    }
  }
};

struct RegisteredBackward final : NodeWith<0> {
  explicit RegisteredBackward(const core::Op& o)
      : op(o), backward(core::get_op(core::registered(o)->backward)) {}
  std::string name() const override { return op.name; }
  void release_saved() override { kept.clear(); }

  void run(Tensor* grads, Tensor* out) override {
    if (kept.empty() && released) {
      throw Error(core::join(
          op.name,
          ": this graph was already walked and its buffers are freed; pass retain_graph to go "
          "backward a second time"));
    }
    std::deque<Tensor> tensors;
    std::deque<std::vector<const tn_tensor*>> lists;
    std::vector<tn_value> in;
    auto add = [&](Tensor t) {
      tensors.push_back(std::move(t));
      in.push_back(pointer_value(TN_TAG_TENSOR, &tensors.back().unsafeGetTensorImpl()->view));
    };
    for (uint32_t k = 0; k < n_grads; ++k) {
      add(grads[k].defined() ? grads[k] : zeros(results[k].sizes(), results[k].options()));
    }
    for (Kept& k : kept) {
      if (k.plain.tag == TN_TAG_TENSOR) {
        add(k.tensor.unpack(*this));
      } else if (k.plain.tag == TN_TAG_TENSOR_LIST) {
        auto& list = lists.emplace_back();
        for (SavedTensor& s : k.list) {
          tensors.push_back(s.unpack(*this));
          list.push_back(&tensors.back().unsafeGetTensorImpl()->view);
        }
        in.push_back(pointer_value(TN_TAG_TENSOR_LIST, list.data(), list.size()));
      } else {
        in.push_back(k.plain);
      }
    }
    TENON_CHECK(in.size() == backward.n_args && backward.n_results == n_edges, BackendError,
                op.name, ": its backward op ", backward.schema, " must take ", in.size(),
                " arguments and give ", n_edges, " gradients");
    std::vector<core::OwnedValue> made(n_edges);
    call_recorded(backward, in.data(), made.data());
    for (uint32_t i = 0; i < n_edges; ++i) out[i] = Tensor(made[i].tensor);
  }

  const core::Op &op, &backward;
  std::deque<Kept> kept;
  std::deque<SavedGeometry> results;
};

core::Ref<RegisteredBackward> record(const core::Op& op, const tn_value* in) {
  std::vector<Tensor> inputs;
  bool any = false;
  for (int i = 0; i < op.n_args; ++i) {
    const core::ArgType type = op.args[i].type;
    if (type != core::ArgType::Tensor && type != core::ArgType::OptTensor) continue;
    inputs.push_back(in[i].tag == TN_TAG_TENSOR ? unbox_Tensor(in[i]) : Tensor());
    any |= inputs.back().defined() && tracked(inputs.back());
  }
  if (!any || !recording()) return {};
  const core::RegisteredOp& rules = *core::registered(op);
  if (rules.backward.empty()) return {};
  auto node = core::Ref<RegisteredBackward>::adopt(new RegisteredBackward(op));
  node->n_grads = op.n_results;
  node->make_edges(inputs.size());
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined()) connect(*node, i, inputs[i]);
  }
  for (int i = 0; i < op.n_args; ++i) {
    if (rules.saved_in >> i & 1) node->kept.emplace_back().save(in[i], *node);
  }
  return node;
}

void call_recorded(const core::Op& op, const tn_value* in, core::OwnedValue* out) {
  if (!core::registered(op)) {  // an operator of the build as the backward of a plugin's op
    const core::BoxedFn function = op.boxed_call.load();
    TENON_CHECK(function, NotImplementedError, op.name, ": has no function to call");
    return function(in, out);
  }
  core::TensorImpl* outs[core::kMaxOutputs] = {};
  OperatorScope scope(op.index, core::Form::Functional, in, outs);
  core::Ref<RegisteredBackward> node = record(op, in);
  core::call(op, in, outs);
  for (uint32_t k = 0; k < op.n_results; ++k) {
    const Tensor t = adopt(outs[k]);
    if (node) {
      node->results.emplace_back();
      if (t.defined()) node->results.back().save(t);
      set_history(t, *node, k);
    }
    put(&out[k], t);
  }
  if (!node) return;
  for (uint32_t k = 0; k < op.n_results; ++k) {
    if (!(core::registered(op)->saved_out >> k & 1) || !out[k].tensor) continue;
    Kept& kept = node->kept.emplace_back();
    kept.plain.tag = TN_TAG_TENSOR;
    kept.tensor.save_output(Tensor(out[k].tensor), k);
  }
}

struct Hook {
  Hook() { core::g_registered_call.store(&call_recorded); }
} const hook;

}  // namespace
}  // namespace tenon::autograd
