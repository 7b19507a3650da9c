// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the documentation says about broadcasting, against what the shape rules do. Composite
// operators, which have none, are in tests/ops/broadcasting.cpp.
#include "tenon/core/broadcasting.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <set>

#include "tenon/core/infer.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

std::string text_of(const char* name) {
  const char* text = broadcasting(get_op(name));
  return text ? text : "null";
}

TEST(Broadcasting, OfEachKindOfRule) {
  EXPECT_EQ(text_of("add.Tensor"), "self, other; in place: other to self");
  EXPECT_EQ(text_of("maximum"), "self, other");  // has no in-place form
  EXPECT_EQ(text_of("where.self"), "condition, self, other");
  EXPECT_EQ(text_of("where.ScalarOther"), "condition, self");
  EXPECT_EQ(text_of("lerp.Tensor"), "self, end, weight; in place: end, weight to self");
  EXPECT_EQ(text_of("addmm"), "self to the result; in place: nothing");
  EXPECT_EQ(text_of("copy"), "src to self");
  EXPECT_EQ(text_of("index_put"), "indices; values to the elements of self");
}

TEST(Broadcasting, NothingDoes) {
  for (const char* name : {"cat", "mm", "convolution", "gather", "relu", "add.Scalar", "equal"})
    EXPECT_EQ(text_of(name), "") << name;
}

TEST(Broadcasting, OfCompositeOperators) {
  EXPECT_EQ(text_of("multiply.Tensor"), "self, other; in place: other to self");  // its line
  EXPECT_EQ(text_of("__and__.Tensor"), "self, other");                            // its body
  EXPECT_EQ(text_of("__iand__.Tensor"), "other to self");
  EXPECT_EQ(text_of("layer_norm"), "null");
}

// Arguments of an operator, the tensors of one shape; none for a type that has no harmless value.
class Arguments {
 public:
  // Tensor k has the kth of the dtypes, the last one from there on.
  bool make(const Op& op, int ndim, const std::vector<ScalarType>& dtypes) {
    std::size_t k = 0;
    for (int i = 0; i < op.n_args; ++i) {
      tn_value v{};
      const ArgInfo& arg = op.args[i];
      if (arg.type == ArgType::Tensor) {
        const int64_t sizes[] = {3, 3, 3, 3};
        const ScalarType dtype = dtypes[std::min(k++, dtypes.size() - 1)];
        owned_.push_back(new_tensor("test", dtype, kHost, ndim, sizes));
        const TensorImpl& t = *owned_.back();
        std::memset(owned_.back()->host_data(), 0, t.numel * t.itemsize());  // indices are read
        v.tag = TN_TAG_TENSOR;
        v.u.tensor = &owned_.back()->view;
      } else if (arg.has_default) {
        v = arg.value;
      } else if (!plain(arg.type, v)) {
        return false;
      }
      in_.push_back(v);
    }
    return true;
  }
  const tn_value* in() const { return in_.data(); }

 private:
  static bool plain(ArgType type, tn_value& v) {
    switch (type) {
      case ArgType::OptTensor:
        v.tag = TN_TAG_NONE;
        return true;
      case ArgType::Int:
        v.tag = TN_TAG_I64;
        return true;
      case ArgType::Float:
      case ArgType::Scalar:
        v.tag = TN_TAG_F64;
        return true;
      case ArgType::Bool:
        v.tag = TN_TAG_BOOL;
        return true;
      default:
        return false;
    }
  }
  std::vector<Impl> owned_;
  std::vector<tn_value> in_;
};

// Bits of the arguments that the text has before " to " and "; ".
uint64_t expanded_by_text(const Op& op) {
  std::string text = broadcasting(op);
  text = ", " + text.substr(0, std::min(text.find(';'), text.find(" to "))) + ",";
  uint64_t bits = 0;
  for (int i = 0; i < op.n_args; ++i) {
    if (text.find(join(", ", op.args[i].name, ",")) != std::string::npos) bits |= uint64_t{1} << i;
  }
  return bits;
}

// What the shape rule expands; null if it refuses these arguments.
std::optional<uint64_t> expanded_by_rule(const Op& op, int ndim,
                                         const std::vector<ScalarType>& dtypes) {
  Arguments arguments;
  if (!arguments.make(op, ndim, dtypes)) return std::nullopt;
  Infer infer(op, arguments.in(), Form::Functional);
  try {
    op.infer(infer);
  } catch (const Error&) {
    return std::nullopt;
  }
  return infer.broadcasts;
}

bool takes_tensors(const Op& op) {
  int n = 0;
  for (int i = 0; i < op.n_args; ++i) n += op.args[i].type == ArgType::Tensor;
  return n > 1;
}

TEST(Broadcasting, IsWhatTheShapeRulesDo) {
  const std::vector<ScalarType> dtypes[] = {{kFloat},        {kLong},
                                            {kBool},         {kFloat, kLong},
                                            {kFloat, kBool}, {kFloat, kBool, kFloat},
                                            {kBool, kFloat}, {kFloat, kLong, kFloat}};
  std::set<std::string> tried;
  for (int i = 0; i < op_count(); ++i) {
    const Op& op = op_at(i);
    if (op.kind != OpKind::Kernel || op.layout != nullptr || !takes_tensors(op)) continue;
    if (op.flags & kOpDynamic) continue;  // its kernel expands (masked_select)
    ASSERT_NE(broadcasting(op), nullptr) << op.name;
    for (int ndim = 0; ndim <= 4; ++ndim) {
      for (const auto& these : dtypes) {
        const std::optional<uint64_t> expanded = expanded_by_rule(op, ndim, these);
        if (!expanded) continue;
        tried.insert(op.name);
        EXPECT_EQ(*expanded, expanded_by_text(op))
            << op.name << " is said to broadcast '" << broadcasting(op) << "'";
      }
    }
  }
  EXPECT_GT(tried.size(), 95u);
  for (const char* name : {"add.Tensor", "addmm", "baddbmm", "copy", "masked_fill.Tensor",
                           "masked_scatter", "bernoulli.Tensor", "gather", "mm"})
    EXPECT_EQ(tried.count(name), 1u) << name;
}

}  // namespace
}  // namespace tenon::core
