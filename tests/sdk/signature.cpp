// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/sdk/kernel.h"

#include <gtest/gtest.h>

using namespace tenon::sdk;

namespace {

tn_status two(Call&, Tensor, Tensor, int64_t, std::optional<Ints>, bool) { return TN_OK; }

static_assert(detail::matches(&two, "T;T,I,I[]?,B"));
static_assert(!detail::matches(&two, "T;T,I,I[],B"));
static_assert(!detail::matches(&two, "T;T,I,I[]?"));
static_assert(!detail::matches(&two, "T;T,F,I[]?,B"));
static_assert(detail::count_outputs("T,T;T") == 2);
static_assert(detail::count_outputs(";T") == 0);

struct Op {
  static constexpr std::size_t outputs = 1;
};

std::string last_error;

tn_status picky(Call&, Tensor, Scalar s) {
  if (s.is_bool()) return TN_DECLINED;
  throw Error(TN_ERROR_INDEX, "index ", s.to<int64_t>(), " is out of bounds for ", Ints());
}

tn_status call_picky(tn_value in) {
  static tn_host host = [] {
    tn_host h{};
    h.struct_size = sizeof h;
    h.set_error = [](tn_call*, tn_str text) { last_error.assign(text.ptr, text.len); };
    return h;
  }();
  detail::g_host = &host;
  tn_value out{};
  tn_call c{};
  c.struct_size = sizeof c;
  c.n_in = c.n_out = 1;
  c.in = &in;
  c.out = &out;
  return detail::trampoline<&picky, Op>(&c);
}

}  // namespace

TEST(Trampoline, TurnsExceptionsIntoAStatus) {
  tn_value v{};
  v.tag = TN_TAG_I64;
  v.u.i64 = 7;
  EXPECT_EQ(call_picky(v), TN_ERROR_INDEX);
  EXPECT_EQ(last_error, "index 7 is out of bounds for []");
}

TEST(Trampoline, DeclinesTagsItDoesNotKnow) {
  tn_value v{};
  v.tag = TN_TAG_DEVICE;
  EXPECT_EQ(call_picky(v), TN_DECLINED);
  v.tag = TN_TAG_BOOL;
  EXPECT_EQ(call_picky(v), TN_DECLINED);
}
