// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The operator under vmap against a loop over the slices: results, and gradients by slice.
#include <cmath>

#include "cell.h"
#include "reference.h"
#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/random.h"
#include "tenon/vmap.h"

namespace tenon::check {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

// The operator of one sample, as a function of all tensors among its arguments.
class Sample {
 public:
  Sample(const core::Op& op, const Spec& spec, int set)
      : op_(op), built_(with_values(spec, set), spec.main, Memory::Contiguous, core::kHost) {
    for (const core::Impl& t : built_.tensors()) tensors.push_back(Tensor(t));
  }
  Tensors call(const Tensors& given) const { return call_form(op_.boxed_call.load(), given); }
  // On a copy of self, which comes first.
  Tensors call_inplace(const Tensors& given) const {
    Tensors own = given;
    own[0] = own[0].clone();
    return call_form(op_.boxed_inplace.load(), own), Tensors{own[0]};
  }
  Tensors tensors;

 private:
  Tensors call_form(core::BoxedFn function, const Tensors& given) const {
    std::vector<tn_value> in(built_.values(), built_.values() + op_.n_args);
    std::vector<std::vector<const tn_tensor*>> lists(op_.n_args);
    std::size_t next = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i].tag == TN_TAG_TENSOR) {
        in[i].u.tensor = &given[next++].unsafeGetTensorImpl()->view;
      } else if (in[i].tag == TN_TAG_TENSOR_LIST) {
        lists[i].assign(in[i].u.tensors, in[i].u.tensors + in[i].len);
        for (const tn_tensor*& t : lists[i]) {
          if (t) t = &given[next++].unsafeGetTensorImpl()->view;
        }
        in[i].u.tensors = lists[i].data();
      }
    }
    std::vector<core::OwnedValue> out(op_.n_results);
    core::manual_seed(7);
    function(in.data(), out.data());
    Tensors results;
    for (const oracle::Result& r : oracle::flatten(out.data(), op_.n_results)) {
      if (r.tensor) results.push_back(Tensor(r.tensor));
    }
    return results;
  }
  const core::Op& op_;
  Built built_;
};

// The gradients of weighted sums of the results by all floating arguments, and those arguments.
Function gradient_of(const Function& f) {
  return [f](const Tensors& given) {
    Tensors leaves, own, sums, grads;
    for (const Tensor& t : given) {
      own.push_back(t.is_floating_point() ? t.detach().requires_grad_() : t);
      if (t.is_floating_point()) leaves.push_back(own.back());
    }
    for (const Tensor& t : f(own)) {
      if (!t.requires_grad()) continue;
      const Tensor weights = arange(1, t.numel() + 1).to(t.scalar_type()).cos().view(t.sizes());
      sums.push_back((t * weights).sum());
    }
    if (sums.empty()) return Tensors();
    grads = autograd::grad(sums, leaves, {}, false, false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined()) grads[i] = zeros_like(leaves[i]);
    }
    return grads;
  };
}

// Products of many rows at once add in another order, and round in other places.
double tolerance_of(const Tensor& t) {
  return t.scalar_type() == kDouble ? 1e-7 : t.element_size() == 2 ? 5e-2 : 1e-4;
}

std::string difference(const Tensors& all, const std::vector<Tensors>& one_by_one) {
  if (all.size() != one_by_one[0].size())
    return core::join(all.size(), " results instead of ", one_by_one[0].size());
  for (std::size_t s = 0; s < one_by_one.size(); ++s) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      const Tensor got = all[k].select(0, static_cast<int64_t>(s)), wanted = one_by_one[s][k];
      if (got.sizes() != wanted.sizes() || got.scalar_type() != wanted.scalar_type())
        return core::join("result ", k, " is ", dtype_name(got.scalar_type()), " ", got.sizes(),
                          " instead of ", dtype_name(wanted.scalar_type()), " ", wanted.sizes());
      if (!allclose(got, wanted, tolerance_of(got), tolerance_of(got), /*equal_nan=*/true))
        return core::join("result ", k, " of slice ", s, " has other values");
    }
  }
  return {};
}

// `f` of two slices of the tensors that `batched` names, the others being those of the first.
std::string compare(const Function& f, const Tensors& a, const Tensors& b,
                    const std::vector<bool>& batched) {
  Tensors stacked, second;
  std::vector<VmapDims> dims;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int dim = i % 2 ? -1 : 0;
    stacked.push_back(batched[i] ? stack({a[i], b[i]}, dim) : a[i]);
    second.push_back(batched[i] ? b[i] : a[i]);
    dims.push_back(batched[i] ? VmapDims(dim) : VmapDims(std::nullopt));
  }
  const std::vector<Tensors> wanted = {f(a), f(second)};
  for (const Tensors& r : wanted) {
    if (r.size() != wanted[0].size()) return {};
    for (std::size_t k = 0; k < r.size(); ++k) {
      if (r[k].sizes() != wanted[0][k].sizes()) return {};  // as many as the elements say
    }
  }
  if (wanted[0].empty()) return {};
  const std::string text = VmapDims(dims).str();
  try {
    const std::string wrong = difference(vmap(f, VmapDims({VmapDims(dims)}))(stacked), wanted);
    return wrong.empty() ? wrong : core::join("in_dims ", text, ": ", wrong);
  } catch (const std::exception& e) {
    // Of an operator that draws, two calls differ.
    if (std::string_view(e.what()).find("in randomness error mode") != std::string_view::npos)
      return {};
    return core::join("in_dims ", text, ": ", e.what());
  }
}

bool is_refused(const Function& f, const Tensors& given) {
  try {
    f(given);
    return false;
  } catch (const Error&) {
    return true;
  }
}

// All tensors batched, then each alone.
std::string compare_all(const Function& f, const Tensors& a, const Tensors& b) {
  std::string wrong = compare(f, a, b, std::vector<bool>(a.size(), true));
  for (std::size_t i = 0; wrong.empty() && a.size() > 1 && i < a.size(); ++i) {
    std::vector<bool> one(a.size());
    one[i] = true;
    wrong = compare(f, a, b, one);
  }
  return wrong;
}

}  // namespace

Findings run_batched(const core::Op& op, const Spec& spec) {
  Findings out;
  if (mutates(op) || addresses_storage(op)) return out;
  const Sample a(op, spec, 0), b(op, spec, 1);
  const Function f = [&](const Tensors& given) { return a.call(given); };
  if (a.tensors.empty() || is_refused(f, a.tensors)) return out;
  const Tensors& second = is_refused(f, b.tensors) ? a.tensors : b.tensors;
  out.judge(Property::Batched, compare_all(f, a.tensors, second));
  if (op.boxed_inplace.load()) {
    const Function g = [&](const Tensors& given) { return a.call_inplace(given); };
    const std::vector<bool> all(a.tensors.size(), true);
    if (!is_refused(g, a.tensors)) out.judge(Property::Batched, compare(g, a.tensors, second, all));
  }
  const Function h = gradient_of(f);
  if (spec.main == kDouble && !is_refused(h, a.tensors) && !is_refused(h, second))
    out.judge(Property::BatchedGrad, compare_all(h, a.tensors, second));
  return out;
}

}  // namespace tenon::check
