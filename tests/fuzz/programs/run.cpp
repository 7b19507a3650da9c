// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "program.h"

namespace tenon::fuzz {
namespace {

const Operator& op_of(const Step& s) { return operators()[static_cast<std::size_t>(s.op)]; }
std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The memory of the twin, and its variables by what the program says of them.
class Twin {
 public:
  Twin(const Program& p, const std::vector<Tensor>& leaves, Constants& c) : p_(p), constants_(c) {
    memory_.resize(p.memories.size());
    for (std::size_t i = 0; i < leaves.size(); ++i) memory_[i] = leaves[i].reshape({-1});
    for (const Step& s : p.steps) step(s);
  }
  Tensor read(int i) {
    const Variable& v = p_.variables[at(i)];
    const Tensor value = memory_[at(v.memory)].index_select(0, places(v)).reshape(v.sizes);
    return v.constant ? constants_.take(value) : value;
  }

 private:
  static Tensor places(const Variable& v) {
    return tensor(ArrayRef<int64_t>(v.at), TensorOptions(kLong));
  }
  void write(int i, const Tensor& value) {
    constexpr double kMaxValue = 100;
    const Variable& v = p_.variables[at(i)];
    constants_.noisy |= !(value.detach().abs().max().item<double>() < kMaxValue);
    Tensor& m = memory_[at(v.memory)];
    m = m.defined() ? m.index_copy(0, places(v), value.reshape({-1})) : value.reshape({-1});
  }
  Tensor computed(const Step& s) {
    const Tensor a = read(s.a);
    return op_of(s).call(a, op_of(s).binary ? read(s.b) : a);
  }
  void step(const Step& s) {
    switch (s.kind) {
      case Step::kCompute:
        return write(s.dst, computed(s));
      case Step::kHiddenCompute:
        return write(s.dst, constants_.take(computed(s)));
      case Step::kHook: {
        // The value as it is, the slope times `number`.
        const Tensor t = computed(s);
        return write(s.dst, t * s.number + constants_.take(t) * (1 - s.number));
      }
      case Step::kWrite:
        return write(s.a, computed(s));
      case Step::kHiddenWrite: {
        const Tensor before = read(s.a);
        return write(s.a, before + constants_.take(computed(s) - before));
      }
      case Step::kFunction:
        return write(s.dst, read(s.a).pow(3));
      case Step::kFunctionWrite:
        return write(s.a, (read(s.a) * 2).exp());
      case Step::kView:
      case Step::kTranspose:
      case Step::kDetach:
        return;  // its variable says where it lies
    }
  }
  const Program& p_;
  Constants& constants_;
  std::vector<Tensor> memory_;
};

Tensor expanded(const Tensor& a) {
  std::vector<int64_t> sizes = a.sizes().vec();
  sizes.insert(sizes.begin(), 2);
  return a.unsqueeze(0).expand(sizes);
}

}  // namespace

Tensor view_of(const Step& s, const Tensor& a) {
  switch (s.view) {
    case 0:
      return a.select(s.dim, a.size(s.dim) - 1);
    case 1:
      return a.slice(s.dim, 0, a.size(s.dim), 2);
    case 2:
      return a.narrow(s.dim, a.size(s.dim) / 2, a.size(s.dim) - a.size(s.dim) / 2);
    case 3:
      return a.unsqueeze(0);
    case 4:
      return a.transpose(s.dim, s.dim2);
    case 5:
      return s.dim == s.dim2 ? a.alias() : a.diagonal(0, s.dim, s.dim2);
    case 6:
      return a.unfold(s.dim, 1, 1);
    default:
      return expanded(a);
  }
}

std::vector<Tensor> run(const Program& p, const std::vector<Tensor>& leaves) {
  std::vector<Tensor> v(p.variables.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) v[i] = leaves[i];
  for (const Step& s : p.steps) {
    const Tensor a = v[at(s.a)], b = s.b < 0 ? a : v[at(s.b)];
    Tensor made;
    AutoGradMode record(s.kind != Step::kHiddenCompute && s.kind != Step::kHiddenWrite);
    switch (s.kind) {
      case Step::kCompute:
      case Step::kHiddenCompute:
        made = op_of(s).call(a, b);
        break;
      case Step::kHook:
        made = op_of(s).call(a, b) *
               1;  // an operator that saves its result gives the hook what flows back to that, too
        if (made.requires_grad())
          made.register_hook([k = s.number](const Tensor& g) { return g * k; });
        break;
      case Step::kWrite:
      case Step::kHiddenWrite:
        op_of(s).write(a, b);
        break;
      case Step::kFunction:
        made = cubed(a);
        break;
      case Step::kFunctionWrite:
        double_exponential(a);
        break;
      case Step::kView:
        made = view_of(s, a);
        break;
      case Step::kTranspose:
        made = a.transpose_(s.dim, s.dim2);
        break;
      case Step::kDetach:
        made = a.detach();
        break;
    }
    if (s.dst >= 0) v[at(s.dst)] = made;
  }
  std::vector<Tensor> out;
  for (int i : p.outputs) out.push_back(v[at(i)]);
  return out;
}

std::vector<Tensor> run_twin(const Program& p, const std::vector<Tensor>& leaves,
                             Constants& constants) {
  constants.restart();
  Twin twin(p, leaves, constants);
  std::vector<Tensor> out;
  for (int i : p.outputs) out.push_back(twin.read(i));
  return out;
}

std::string text_of(const Program& p) {
  static const char* const kViews[] = {"select last", "every second", "second half", "unsqueeze",
                                       "transpose",   "diagonal",     "unfold",      "expand"};
  static const char* const kKinds[] = {"",         "view",          "write", "detach",
                                       "no-grad",  "no-grad write", "hook",  "transpose_",
                                       "function", "function write"};
  std::ostringstream out;
  for (std::size_t i = 0; i < p.leaves.size(); ++i) {
    out << "\n  v" << i << " = leaf " << core::text(p.variables[i].sizes) << " {";
    for (double x : p.leaves[i]) out << x << ", ";
    out << "}";
  }
  for (const Step& s : p.steps) {
    out << "\n  ";
    if (s.dst >= 0) out << "v" << s.dst << " = ";
    out << kKinds[s.kind] << " ";
    if (s.kind == Step::kView) out << kViews[s.view] << " " << s.dim << " " << s.dim2;
    const bool operates = s.kind == Step::kCompute || s.kind == Step::kWrite ||
                          s.kind == Step::kHook || s.kind == Step::kHiddenCompute ||
                          s.kind == Step::kHiddenWrite;
    if (operates) out << op_of(s).name;
    if (s.kind == Step::kHook) out << " " << s.number;
    out << "(v" << s.a;
    if (operates && op_of(s).binary) out << ", v" << s.b;
    out << ")";
  }
  out << "\n  outputs";
  for (int i : p.outputs) out << " v" << i;
  return out.str();
}

}  // namespace tenon::fuzz
