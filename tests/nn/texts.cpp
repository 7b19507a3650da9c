// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What modules print, in both styles, and containers that take over others' elements. The texts are
// those of libtorch 2.15, but for the namespace.
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/print.h"
#include "tests/nn/support.h"
#include "tests/support.h"

using namespace tenon;
using namespace tenon::nn;

namespace {}  // namespace

TEST(Texts, OptionsAreShownAsInLibtorch) {
  const std::string own = "tenon::nn::";
  const std::vector<std::pair<std::string, const char*>> texts = {
      {test::printed(Conv1d(3, 4, 5)), "Conv1d(3, 4, kernel_size=5, stride=1)"},
      {test::printed(ConvTranspose2d(3, 4, 5)),
       "ConvTranspose2d(3, 4, kernel_size=[5, 5], stride=[1, 1])"},
      {test::printed(MaxPool1d(5)),
       "MaxPool1d(kernel_size=5, stride=5, padding=0, dilation=1, ceil_mode=false)"},
      {test::printed(AvgPool2d(5)), "AvgPool2d(kernel_size=[5, 5], stride=[5, 5], padding=[0, 0])"},
      {test::printed(LPPool1d(2, 5)),
       "LPPool1d(norm_type=2, kernel_size=5, stride=5, ceil_mode=false)"},
      {test::printed(AdaptiveAvgPool1d(5)), "AdaptiveAvgPool1d(output_size=5)"},
      {test::printed(AdaptiveMaxPool2d(AdaptiveMaxPool2dOptions({5, std::nullopt}))),
       "AdaptiveMaxPool2d(output_size=[5, None])"},
      {test::printed(Upsample(UpsampleOptions().size(std::vector<int64_t>{2, 4}))),
       "Upsample(size=[2, 4], mode=kNearest)"},
      {test::printed(ReLU()), "ReLU()"},
      {test::printed(ReLU(true)), "ReLU(inplace=true)"},
      {test::printed(ELU(ELUOptions().alpha(2).inplace(true))), "ELU(alpha=2, inplace=true)"},
      {test::printed(Softshrink()), "Softshrink(0.5)"},
      {test::printed(L1Loss()), "L1Loss()"},
      {test::printed(TripletMarginLoss()),
       "TripletMarginLoss(margin=1, p=2, eps=1e-06, swap=false)"},
      {test::printed(Unflatten(UnflattenOptions(0, {2, 2}))),
       "Unflatten(dim=0, unflattened_size={2, 2})"},
      {test::printed(Unflatten(UnflattenOptions("B", {{"B1", 2}, {"B2", 3}}))),
       "Unflatten(dim=\"B\", unflattened_size={{\"B1\", 2}, {\"B2\", 3}})"},
      {test::printed(GRUCell(2, 3)), "GRUCell(2, 3)"},
      {test::printed(ParameterList(ones({1, 2}), ones({3}))),
       "ParameterList(\n(0): Parameter containing: [Float of size [1, 2]]\n"
       "(1): Parameter containing: [Float of size [3]]\n)"},
      {test::printed(FractionalMaxPool2d(FractionalMaxPool2dOptions(5).output_size(1))),
       "FractionalMaxPool2d()"}};
  for (const auto& t : texts) EXPECT_EQ(t.first, own + t.second);
  EXPECT_TEXT(Unflatten(UnflattenOptions("B", {{"B1", 2}}))(ones({2})), "no names of dimensions");
}

TEST(Texts, TheStyleSaysWhichNamespace) {
  struct Net : Module {
    Net() : Module("Net") { register_module("gru", GRU(2, 3)); }
  };
  const TransformerEncoderLayer layer(2, 1);
  const std::string usual = test::printed(Net()), nested = test::printed(layer);
  set_print_style(PrintStyle::Libtorch);
  const std::string other = test::printed(Net()), other_nested = test::printed(layer);
  set_print_style(PrintStyle::Tenon);
  EXPECT_EQ(usual.rfind("Net(\n  (gru): tenon::nn::GRU(input_size=2", 0), 0u) << usual;
  EXPECT_EQ(other.rfind("Net(\n  (gru): torch::nn::GRU(input_size=2", 0), 0u) << other;
  EXPECT_EQ(nested.rfind("tenon::nn::TransformerEncoderLayerImpl(\n  (self_attn): tenon::", 0), 0u);
  EXPECT_EQ(
      other_nested.rfind("torch::nn::TransformerEncoderLayerImpl(\n  (self_attn): torch::", 0), 0u);
}

TEST(Containers, TakeOverTheElementsOfOthers) {
  ModuleDict dict,
      more(std::vector<std::pair<std::string, std::shared_ptr<Module>>>{{"b", Linear(1, 2).ptr()}});
  dict->update(OrderedDict<std::string, std::shared_ptr<Module>>{{"a", Linear(1, 1).ptr()},
                                                                 {"b", ReLU().ptr()}});
  dict->update(*more);
  EXPECT_EQ(dict->keys(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(dict["b"], more["b"]);

  ParameterDict values, others;
  values->insert("a", zeros({2}));
  others->insert("a", ones({2}));
  values->update(*others);
  EXPECT_TRUE(equal(values["a"], ones({2})));
  others->insert("c", ones({2}));
  EXPECT_TEXT(values->update(*others), "'c' is not defined");

  ParameterList list(zeros({1})), tail(ones({2}), ones({3}));
  *list += *tail;
  list->extend(std::vector<Tensor>{ones({4})});
  EXPECT_EQ(list->size(), 4u);
  EXPECT_EQ(list[2].numel(), 3);
}

TEST(Containers, ErrorsNameTypesAndIndices) {
  AnyModule any;
  EXPECT_TEXT(any.ptr<LinearImpl>(), "Cannot call ptr() on an empty AnyModule");
  any = Linear(2, 3).ptr();
  EXPECT_TEXT(any.get<ReLUImpl>(), "Attempted to cast module of type tenon::nn::LinearImpl");
  EXPECT_TEXT(any.forward<int>(ones({2})), "Attempted to cast AnyValue to int");
  Sequential layers(Linear(2, 3));
  EXPECT_TEXT(layers->forward<int>(ones({2})),
              "The type of the return value is tenon::Tensor, but you asked for type int");
  EXPECT_TEXT(layers->at<LinearImpl>(1), "Index out of range");
  EXPECT_TEXT(layers->unregister_module("x"), "No Module with name `x` is registered");
}
