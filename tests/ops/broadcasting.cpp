// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Every operator that is said to broadcast some arguments (tenon/core/broadcasting.h), called with
// small ones and with the same ones expanded. tests/core/broadcasting.cpp has the other direction.
#include "tenon/core/broadcasting.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tenon/autograd.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

const std::vector<int64_t> kSizes = {4, 5, 3};  // 3: of the vectors of cross

// The names of "self, other" that are tensors; empty if the text is not such a list.
std::vector<int> arguments_named(const core::Op& op, const std::string& text) {
  std::vector<int> out;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    word.erase(0, word.find_first_not_of(' '));
    for (int i = 0; i < op.n_args; ++i) {
      const core::ArgType type = op.args[i].type;
      if (word == op.args[i].name &&
          (type == core::ArgType::Tensor || type == core::ArgType::OptTensor))
        out.push_back(i);
    }
  }
  return out;
}

// What is said before and after "; in place: ".
std::pair<std::string, std::string> parts_of(const core::Op& op) {
  const std::string text = core::broadcasting(op) ? core::broadcasting(op) : "";
  const std::string mark = "; in place: ";
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + mark.size())};
}

struct Call {
  std::vector<Tensor> tensors;
  std::vector<tn_value> in;
  const core::Op* op;

  // Of the tensors at `small` the kth has size 1 in dimension k, or is what that one expands to;
  // all others have all sizes, or, with `scalars`, none.
  Call(const core::Op& o, const std::vector<int>& small, bool expanded, bool scalars,
       const std::vector<ScalarType>& dtypes)
      : op(&o) {
    std::size_t n = 0;
    for (int i = 0; i < o.n_args; ++i) {
      tn_value v = o.args[i].value;
      const auto at = std::find(small.begin(), small.end(), i);
      if (at != small.end() || o.args[i].type == core::ArgType::Tensor) {
        std::vector<int64_t> sizes = kSizes;
        if (at != small.end())
          sizes[static_cast<std::size_t>(at - small.begin())] = 1;
        else if (scalars && i > 0)
          sizes.clear();
        int64_t numel = 1;
        for (int64_t s : sizes) numel *= s;
        Tensor t =
            (arange(numel) % 4 + 1).reshape(sizes).to(dtypes[std::min(n++, dtypes.size() - 1)]);
        if (expanded && at != small.end()) t = t.expand(kSizes).contiguous();
        tensors.push_back(t);
        v = {};
        v.tag = TN_TAG_TENSOR;
        v.u.tensor = &t.unsafeGetTensorImpl()->view;
      } else if (!o.args[i].has_default) {
        v = plain(o.args[i].type);
      }
      in.push_back(v);
    }
  }

  std::vector<Tensor> run(core::Form form) {
    core::OwnedValue out[core::kMaxOutputs];
    (form == core::Form::Inplace ? op->boxed_inplace : op->boxed_call).load()(in.data(), out);
    std::vector<Tensor> results;
    for (core::OwnedValue& v : out) {
      if (v.tensor) results.push_back(Tensor(std::move(v.tensor)));
      if (v.tag == TN_TAG_BOOL) results.push_back(tensor(v.plain.u.i64));
      for (core::Impl& t : v.tensors) results.push_back(Tensor(std::move(t)));
    }
    return results;
  }

 private:
  static tn_value plain(core::ArgType type) {
    tn_value v{};
    switch (type) {
      case core::ArgType::Int:
        v.tag = TN_TAG_I64;
        break;
      case core::ArgType::Float:
      case core::ArgType::Scalar:
        v.tag = TN_TAG_F64;
        v.u.f64 = 1;
        break;
      case core::ArgType::Bool:
        v.tag = TN_TAG_BOOL;
        break;
      default:
        v.tag = TN_TAG_NONE;
    }
    return v;
  }
};

bool draws(const core::Op& op) {
  for (int i = 0; i < op.n_args; ++i)
    if (op.args[i].type == core::ArgType::Generator) return true;
  return false;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && ((a == b) | ((a != a) & (b != b))).all().item<bool>();
}

const std::vector<ScalarType> kDtypes[] = {
    {kFloat}, {kLong}, {kBool}, {kBool, kFloat}, {kFloat, kBool, kFloat}};

// Whether the operator takes any of the dtypes, and broadcasts these arguments as it does expanded
// ones.
bool agrees(const core::Op& op, const std::vector<int>& small, core::Form form) {
  bool called = false;
  for (const auto& dtypes : kDtypes) {
    for (bool scalars : {false, true}) {
      std::vector<Tensor> expected;
      try {
        expected = Call(op, small, true, scalars, dtypes).run(form);
      } catch (const Error&) {
        continue;
      }
      called = true;
      const std::vector<Tensor> is = Call(op, small, false, scalars, dtypes).run(form);
      if (is.size() != expected.size()) return false;
      for (std::size_t k = 0; k < is.size(); ++k) {
        if (is[k].sizes() != expected[k].sizes()) return false;
        if (!draws(op) && !same(is[k], expected[k])) return false;
      }
    }
  }
  return called;
}

TEST(Broadcasting, OfFunctions) {
  int tried = 0;
  for (int i = 0; i < core::op_count(); ++i) {
    const core::Op& op = core::op_at(i);
    const std::vector<int> small = arguments_named(op, parts_of(op).first);
    if (small.size() < 2 || !op.boxed_call.load()) continue;
    SCOPED_TRACE(op.name);
    ++tried;
    try {
      EXPECT_TRUE(agrees(op, small, core::Form::Functional));
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
  EXPECT_GT(tried, 110);
}

// "other to self": only that way.
TEST(Broadcasting, OfFormsInPlace) {
  int tried = 0;
  const std::string to_self = " to self";
  for (int i = 0; i < core::op_count(); ++i) {
    const core::Op& op = core::op_at(i);
    const auto [function, in_place] = parts_of(op);
    if (in_place.size() < to_self.size() || !op.boxed_inplace.load()) continue;
    ASSERT_EQ(in_place.substr(in_place.size() - to_self.size()), to_self);
    const std::vector<int> small =
        arguments_named(op, in_place.substr(0, in_place.size() - to_self.size()));
    ASSERT_FALSE(small.empty()) << op.name;
    SCOPED_TRACE(op.name);
    ++tried;
    try {
      EXPECT_TRUE(agrees(op, small, core::Form::Inplace));
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
    std::string refused;
    try {
      Call(op, {0}, false, false, {kFloat, kFloat}).run(core::Form::Inplace);
    } catch (const Error& e) {
      refused = e.what();
    }
    EXPECT_NE(refused, "");
  }
  EXPECT_GT(tried, 50);
}

TEST(Broadcasting, ToOneArgumentOrTheResult) {
  const Tensor a = ones({2, 3}), b = ones({3, 4}), row = ones({4});
  EXPECT_TRUE(same(addmm(row, a, b), addmm(row.expand({2, 4}), a, b)));
  EXPECT_THROW(row.clone().addmm_(a, b), ValueError);
  EXPECT_TRUE(same(zeros({2, 4}).copy_(row), ones({2, 4})));
  EXPECT_EQ(matmul(ones({5, 1, 2, 3}), ones({7, 3, 4})).sizes(), IntArrayRef({5, 7, 2, 4}));
  EXPECT_EQ(cdist(ones({5, 1, 2, 3}), ones({7, 4, 3})).sizes(), IntArrayRef({5, 7, 2, 4}));
  const Tensor m = eye(3).expand({5, 1, 3, 3});
  EXPECT_EQ(linalg_solve(m, ones({7, 3, 2})).sizes(), IntArrayRef({5, 7, 3, 2}));
  EXPECT_EQ(addr(ones({4}), ones({3}), ones({4})).sizes(), IntArrayRef({3, 4}));
  EXPECT_EQ(addbmm(ones({4}), ones({2, 3, 5}), ones({2, 5, 4})).sizes(), IntArrayRef({3, 4}));
}

TEST(Broadcasting, ThoseThatDoNotRefuse) {
  EXPECT_THROW(cat({ones({2, 1}), ones({1, 3})}, 0), ValueError);
  EXPECT_THROW(stack({ones({2, 1}), ones({1, 3})}, 0), ValueError);
  EXPECT_FALSE(ones({2, 1}).equal(ones({2, 3})));
}

}  // namespace
}  // namespace tenon
