// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// BC, TS and IX: messages about shapes, kinds and indices.
#include "tenon/compat/backcompat.h"
// The switches before all other headers.
#include "tests/messages/table.h"

namespace tenon::messages {

TEST_P(Messages, HaveTheWordsPeopleSearchFor) {
  const std::string text = GetParam().text();
  ASSERT_NE(text, "") << "of another class, or none";
  for (const char* w : GetParam().words)
    EXPECT_TRUE(test::has(text, w)) << "'" << w << "' is not in: " << text;
}

namespace {

using indexing::Slice;

template <class Switch, class F>
auto with(F f) {
  return [f] {
    const Switch on;
    f();
  };
}

const Row rows[] = {
    error<ValueError>(
        "BC01",
        [] {
          add(ones({5, 2, 4, 1}), ones({3, 1, 1}));
        },
        {"add", "size 2 of a", "size 3 of b", "at dimension 1", "[5, 2, 4, 1]", "[3, 1, 1]"}),
    warning("BC02", with<compat::PointwiseFallback>([] {
              add(ones({4}), ones({2, 2}));
            }),
            {"[4] and [2, 2]", "not broadcastable", "same number of elements"}),
    warning("BC03", with<compat::BroadcastWarning>([] {
              add(ones({4, 1}), ones({4}));
            }),
            {"[4, 1] and [4]", "do not have the same shape", "broadcastable"}),
    warning("BC04", with<compat::KeepdimWarning>([] {
              ones({2, 3}).sum(1);
            }),
            {"sum", "keepdim"}),
    error<ValueError>("BC05",
                      [] {
                        ones({2, 3}).expand({2, 4});
                      },
                      {"cannot expand size 3 to 4 at dimension 1"}),
    error<ValueError>("TS01", [] { ones({2}).item(); }, {"only one-element tensors", "2"}),
    error<IndexError>("TS02", [] { tensor(1.)[0]; }, {"cannot index a 0-dim tensor", "item()"}),
    error<ValueError>("TS03", [] { (void)ones({2}).is_nonzero(); }, {"2 elements", "ambiguous"}),
    error<TypeError>("TS04", with<compat::Era04>([] { ones({2}) + ones({2}, kDouble); }),
                     {"add", "expected float32", "but found float64", "argument 2", "'other'"}),
    error<IndexError>("TS05",
                      [] {
                        ones({2, 3}).sum(2);
                      },
                      {"dimension out of range", "[-2, 1]", "got 2"}),
    error<TypeError>("TS06", [] { set_default_dtype(kLong); }, {"default dtype", "int64"}),
    error<TypeError>("TS06_of_a_type", [] { set_default_tensor_type("tenon.LongTensor"); },
                     {"default dtype", "int64"}),
    error<TypeError>("TS06_of_a_layout",
                     [] { set_default_tensor_type("tenon.sparse.FloatTensor"); },
                     {"strided", "tenon.sparse.FloatTensor"}),
    error<ValueError>("TS07",
                      [] {
                        tensor({{1, 2}, {3}});
                      },
                      {"expected 2 items at depth 2, got 1"}),
    error<ValueError>("TS07_deeper",
                      [] {
                        tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7}}});
                      },
                      {"expected 2 items at depth 3, got 1"}),
    error<ValueError>("TS07_of_a_number",
                      [] {
                        tensor({{1, 2}, 3});
                      },
                      {"expected 2 items at depth 2, got a number"}),
    error<ValueError>("TS08", [] { options_from_type("tenon.BigTensor"); },
                      {"invalid type 'tenon.BigTensor'"}),
    error("TS09", [] { zeros({1}, TensorOptions(Device("abacus"))); },
          {"unknown device type 'abacus'", "loaded: cpu"}),
    error<ValueError>("TS10", [] { Device("cpu:1"); }, {"device index must be", "got 1"}),
    error<ValueError>("TS10_negative", [] { Device(kCUDA, -2); }, {"device index must be", "-2"}),
    error<ValueError>("TS12",
                      [] {
                        ones({2, 3}).t().view({6});
                      },
                      {"view is incompatible with strides [1, 3]", "reshape", "contiguous"}),
    error<IndexError>("IX01",
                      [] {
                        ones({3}).index({1, 2});
                      },
                      {"too many indices (2)", "rank 1"}),
    error<IndexError>("IX02",
                      [] {
                        ones({3, 4, 5}).index({0, 7});
                      },
                      {"index 7", "out of bounds", "dimension 1", "size 4"}),
    error<ValueError>("IX03", [] { ones({3}).index({Slice(0, 3, -1)}); },
                      {"slice step must be positive", "-1"}),
    error("IX04", [] { ones({3}).index({tensor({1.})}); }, {"index tensors must be", "float32"}),
    error<IndexError>("IX05", [] { ones({3}).index({ones({4}, kBool)}); },
                      {"mask shape [4]", "does not match [3]", "position 0"}),
    warning("IX07",
            [] {
              const Tensor t = zeros({2}), mask = tensor({true, false});
              t.masked_copy_(mask, ones({1}));
              t.masked_copy_(mask, ones({1}));
              EXPECT_TRUE(equal(t, tensor({1., 0.})));
            },
            {"masked_copy_", "renamed masked_scatter_"}),
    error("CU02", [] { zeros({1}, TensorOptions(Device("abacus"))); },
          {"not loaded", "looked for libtenon_abacus.so"}),
    error<NotImplementedError>("T22_closest_names", [] { call("grid_smaple", {}); },
                               {"grid_smaple", "grid_sampler"}),
};

INSTANTIATE_TEST_SUITE_P(Tensors, Messages, testing::ValuesIn(rows), name_of);

}  // namespace
}  // namespace tenon::messages
