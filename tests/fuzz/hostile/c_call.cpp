// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// tn_call_op of every schema: mostly the right kinds of values with odd ones among them, sometimes
// any kind for any argument, null pointers and wrong counts.
#include <cstdlib>
#include <map>
#include <regex>
#include <vector>

#include "arguments.h"
#include "hostile.h"
#include "tenon/abi/client.h"
#include "tenon/core/op.h"
#include "tenon/tenon.h"
#include "tools/check/samples.h"

namespace tenon::fuzz {
namespace {

using core::Op;

std::string described(const std::string& name, const std::vector<tn_value>& in) {
  std::string s = name + "(";
  for (const tn_value& v : in) {
    s += s.back() == '(' ? "" : ", ";
    if (v.tag == TN_TAG_TENSOR && v.u.tensor) {
      const auto* t = core::TensorImpl::from_view(v.u.tensor);
      s += core::join(dtype_name(t->dtype), core::text(t->sizes()));
    } else if (v.tag == TN_TAG_I64_LIST && v.u.ptr) {
      s += core::text(IntArrayRef(v.u.i64s, v.len));
    } else if (v.tag == TN_TAG_F64) {
      s += core::join(v.u.f64);
    } else if (v.tag == TN_TAG_STR && v.u.ptr) {
      s += "'" + std::string(v.u.str, std::min<uint32_t>(v.len, 20)) + "'";
    } else if (v.tag == TN_TAG_I64 || v.tag == TN_TAG_BOOL || v.tag == TN_TAG_LAYOUT) {
      s += core::join(v.u.i64);
    } else {
      s +=
          core::join("tag ", v.tag, " of length ", v.len, v.u.ptr || v.len == 0 ? "" : " and null");
    }
  }
  return s + ")";
}

struct State {
  std::vector<int64_t> sizes, strides;
  std::vector<char> bytes;
  bool operator==(const State& o) const {
    return sizes == o.sizes && strides == o.strides && bytes == o.bytes;
  }
};
State state_of(const Tensor& t) {
  if (t.layout() != kStrided) return {t.sizes().vec(), {}, {}};
  State s{t.sizes().vec(), t.strides().vec(), {}};
  const core::Storage& storage = *t.unsafeGetTensorImpl()->storage;
  const char* data = static_cast<const char*>(storage.data);
  s.bytes.assign(data, data + storage.bytes);
  return s;
}

// Whether every element of a strided result lies in its storage.
std::string outside(const tn_tensor* view) {
  const core::TensorImpl& t = *core::TensorImpl::from_view(view);
  if (!t.storage) return "";
  for (int64_t size : t.sizes()) {
    if (size == 0) return t.numel == 0 ? "" : "a result has a wrong numel";
  }
  __int128 numel = 1, last = 0;
  for (int d = 0; d < t.ndim(); ++d) {
    if (t.size(d) < 0) return core::join("a result has the negative size ", t.size(d));
    numel *= t.size(d);
    if (numel > INT64_MAX)
      return core::join("a result has sizes ", core::text(t.sizes()), ", whose product wraps");
    last += static_cast<__int128>(t.size(d) - 1) * t.stride(d);
  }
  if (numel != t.numel) return "a result has a wrong numel";
  const __int128 end = t.byte_offset() + (last + 1) * t.itemsize();
  return end > static_cast<__int128>(t.storage->bytes) ? "a result reaches beyond its storage" : "";
}

std::string judge_results(std::vector<tn_value>& out) {
  std::string wrong;
  for (tn_value& v : out) {
    if (v.tag == TN_TAG_TENSOR) wrong = outside(v.u.tensor);
    for (uint32_t k = 0; v.tag == TN_TAG_TENSOR_LIST && k < v.len && k < 100; ++k) {
      if (v.u.tensors[k] && wrong.empty()) wrong = outside(v.u.tensors[k]);
    }
    tn_release_value(&v);
  }
  return wrong;
}

// "add" of "add.Tensor" and "add_.Tensor".
std::string base_name(const Op& op) {
  const std::string name = op.name;
  return name.substr(0, name.find('.'));
}

// As a message may begin: "linalg.inv" and "torch.linalg.inv" are linalg_inv, "t" is t_, too.
bool names_operator(const std::string& text, const Op& op) {
  const std::string name = base_name(op), plain = name.substr(0, name.find_last_not_of('_') + 1);
  std::string dotted = plain;
  if (dotted.compare(0, 7, "linalg_") == 0) dotted[6] = '.';
  for (const std::string& n : {name, plain, dotted, "torch." + plain, "torch." + dotted}) {
    if (text.compare(0, n.size(), n) == 0) return true;
  }
  return false;
}

std::string judge_error(tn_status status, const std::string& text, const Op& op,
                        const std::vector<tn_value>& out) {
  for (const tn_value& v : out) {
    if (v.tag != TN_TAG_NONE) return "a result is not NONE after an error";
  }
  if (status < TN_ERROR || text.empty())
    return core::join("status ", status, " with the text '", text, "'");
  // Operators of one name differ in arguments: the error has the overload only if it matters.
  if (!names_operator(text, op)) return "the error does not name the operator: " + text;
  return "";
}

std::string judged(Random& r, const Op& op, std::vector<tn_value> in, Arguments& args,
                   std::vector<Tensor> given) {
  std::string name = op.name;
  if ((op.flags & core::kOpInplace) && r.chance(0.25))
    name.insert(std::min(name.find('.'), name.size()), "_");
  if (r.chance(0.02)) in.resize(in.size() - std::min<std::size_t>(in.size(), 1 + r.below(2)));
  if (r.chance(0.01)) in.push_back(tagged(TN_TAG_NONE));
  std::vector<tn_value> out(op.n_results + 1);
  show(described(name, in));
  std::vector<State> before;
  for (const Tensor& t : args.tensors) given.push_back(t);
  before.reserve(given.size());
  for (const Tensor& t : given) before.push_back(state_of(t));
  const auto n_out = static_cast<uint32_t>(r.chance(0.01) ? 0 : out.size());
  const tn_status status = tn_call_op(tn_str{name.data(), name.size()}, in.data(),
                                      static_cast<uint32_t>(in.size()), out.data(), n_out);
  std::string wrong;
  if (status == TN_OK) {
    tally("C calls served");
    wrong = judge_results(out);
  } else {
    tally("C calls refused");
    wrong = judge_error(status, tn_last_error(), op, out);
    std::size_t k = 0;
    for (const Tensor& t : given) {
      if (wrong.empty() && !(state_of(t) == before[k]))
        wrong = core::join("tensor ", k, " changed in a refused call");
      ++k;
    }
    if (!wrong.empty()) wrong += std::string("; ") + tn_last_error();
  }
  return wrong.empty() ? "" : described(name, in) + ": " + wrong;
}

// Valid calls, from tests/check; the fuzzer changes them.
const std::vector<check::Spec>& right_calls(const Op& op) {
  static const check::CallFiles calls(TENON_FUZZ_CALLS "/calls"), brief(TENON_FUZZ_CALLS "/brief");
  static std::map<const Op*, std::vector<check::Spec>> known;
  const auto [at, is_new] = known.try_emplace(&op);
  if (!is_new) return at->second;
  for (const auto* files : {&calls, &brief}) {
    for (check::Spec& s : files->specs(op)) {
      if (!s.large) at->second.push_back(std::move(s));
    }
  }
  return at->second;
}

// Those that TENON_FUZZ_OPS, a regular expression of names, leaves.
const std::vector<const Op*>& operators() {
  static const std::vector<const Op*> list = [] {
    const char* only = std::getenv("TENON_FUZZ_OPS");
    const std::regex wanted(only ? only : ".*");
    std::vector<const Op*> out;
    for (int i = 0; i < core::op_count(); ++i) {
      if (std::regex_search(core::op_at(i).name, wanted)) out.push_back(&core::op_at(i));
    }
    return out;
  }();
  return list;
}

}  // namespace

std::string call_c(Random& r) {
  const Op& op = *r.pick(operators());
  Arguments args(r);
  std::vector<tn_value> in;
  std::vector<Tensor> given;
  if (const auto& calls = right_calls(op); !calls.empty() && r.chance(0.6)) {
    const check::Spec& spec = calls[r.below(calls.size())];
    const check::Built built(spec, r.chance(0.7) ? spec.main : args.dtype,
                             check::kMemories[r.below(5)], {});
    for (const core::Impl& t : built.tensors()) given.emplace_back(t);
    in.assign(built.values(), built.values() + op.n_args);
    for (std::size_t k = r.below(3); k-- > 0 && !in.empty();) {
      const std::size_t i = r.below(in.size());
      in[i] = args.changed(op.args[i], in[i]);
    }
    return judged(r, op, in, args, given);  // while `built` holds the lists
  }
  for (int i = 0; i < op.n_args; ++i) in.push_back(args.argument(op.args[i]));
  return judged(r, op, in, args, given);
}

}  // namespace tenon::fuzz
