// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What exported programs ask for beside the operators of the dispatcher: checks of what was
// promised of their inputs, modes for a part of a program, and results written back to buffers.
#include <limits>
#include <sstream>
#include <utility>

#include "tenon/autograd/mode.h"
#include "tenon/jit/operator.h"
#include "tenon/jit/type.h"
#include "tenon/nn/functional/padding.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

std::string shown(const IValue& v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

// (value, name, sizes): -1 is any size.
void check_sizes(Stack& s) {
  const std::vector<int64_t> wanted = pop(s).toIntVector();
  const IValue name = pop(s);
  const IValue v = pop(s);
  TENON_CHECK(v.isTensor() && v.toTensor().defined(), TypeError, "forward: argument '",
              name.toStringRef(), "' must be a tensor, not ", v.tagKind());
  const IntArrayRef sizes = v.toTensor().sizes();
  TENON_CHECK(sizes.size() == wanted.size(), ValueError, "forward: argument '", name.toStringRef(),
              "' has ", sizes.size(), " dimensions; the program was exported for ", wanted.size());
  for (std::size_t d = 0; d < wanted.size(); ++d)
    TENON_CHECK(wanted[d] < 0 || sizes[d] == wanted[d], ValueError, "forward: dimension ", d,
                " of argument '", name.toStringRef(), "' is ", sizes[d],
                "; the program was exported for ", wanted[d]);
  s.emplace_back(sizes);
}

// (value, min, max, what). A least size of up to 2 is none: exporting assumes that sizes are
// neither 0 nor 1 where nothing depends on it.
void check_range(Stack& s) {
  const IValue what = pop(s);
  const int64_t max = pop_as<int64_t>(s), min = pop_as<int64_t>(s);
  const int64_t v = pop_as<int64_t>(s);
  const bool low = min > 2 && v < min;
  if (!low && v <= max) return;
  const std::string range =
      max == INT64_MAX ? core::join("at least ", min) : core::join("from ", min, " to ", max);
  throw ValueError(core::join("forward: ", what.toStringRef(), " is ", v,
                              "; the program was exported for ", range));
}

void check_equal(Stack& s) {
  const IValue other = pop(s), what = pop(s);
  const int64_t wanted = pop_as<int64_t>(s), v = pop_as<int64_t>(s);
  TENON_CHECK(v == wanted, ValueError, "forward: ", what.toStringRef(), " is ", v,
              "; it must be equal to ", other.toStringRef(), ", which is ", wanted);
}

void check_guard(Stack& s) {
  const IValue guard = pop(s);
  TENON_CHECK(pop_as<bool>(s), ValueError, "forward: the program was exported for arguments where ",
              guard.toStringRef());
}

void check_constant(Stack& s) {
  const IValue name = pop(s), wanted = pop(s), v = pop(s);
  const bool same = v.isNone() == wanted.isNone() && v.isTensor() == wanted.isTensor() &&
                    v.isString() == wanted.isString() && v.isScalar() == wanted.isScalar() &&
                    (v.isNone() || v == wanted);
  TENON_CHECK(same, ValueError, "forward: argument '", name.toStringRef(), "' is ",
              v.isTensor() ? "a tensor" : shown(v), "; the program was exported for ",
              shown(wanted), ", and can take nothing else");
}

std::size_t length_of(const IValue& v) {
  if (v.isGenericDict()) return v.toDictRef().size();
  if (v.isTuple()) return v.toTupleRef().size();
  return v.isList() ? v.toListRef().items.size() : 0;
}

void check_length(Stack& s) {
  const IValue name = pop(s);
  const int64_t wanted = pop_as<int64_t>(s);
  const IValue v = pop(s);
  TENON_CHECK(v.isGenericDict() || v.isTuple() || v.isList(), TypeError, "forward: argument '",
              name.toStringRef(), "' must be a container of ", wanted, " values, not ",
              v.tagKind());
  TENON_CHECK(static_cast<int64_t>(length_of(v)) == wanted, ValueError, "forward: argument '",
              name.toStringRef(), "' has ", length_of(v), " values; the program was exported for ",
              wanted);
}

void item(Stack& s) {
  const IValue name = pop(s), key = pop(s), v = pop(s);
  TENON_CHECK(v.isGenericDict(), TypeError, "forward: '", name.toStringRef(),
              "' must be in a dictionary, not in ", v.tagKind());
  const IValue* found = v.toDictRef().find(key);
  TENON_CHECK(found, IndexError, "forward: there is no ", name.toStringRef());
  s.push_back(*found);
}

// As in-place updates of statistics in eager programs: nothing is recorded.
void write_back(Stack& s) {
  const IValue from = pop(s), to = pop(s);
  if (from.toTensor().is_same(to.toTensor())) return;
  const NoGradGuard no_grad;
  to.toTensor().copy_(from.toTensor().detach());
}

// Holds a mode until nobody needs it any more. `outer` is the mode around it, which has to end
// later.
struct ModeHolder final : ivalue::ObjectType {
  ModeHolder(bool on, IValue o) : before(GradMode::is_enabled()), outer(std::move(o)) {
    GradMode::set_enabled(on);
  }
  ~ModeHolder() override { GradMode::set_enabled(before); }
  const std::string& class_name() const override {
    static const std::string kName = "exported.GradMode";
    return kName;
  }
  int find_slot(std::string_view) const override { return -1; }
  const std::string& slot_name(int) const override { return class_name(); }
  bool is_module_class() const override { return false; }
  bool before;
  IValue outer;
};

void grad_mode(Stack& s) {
  IValue outer = pop(s);
  const bool on = pop_as<bool>(s);
  auto holder = std::make_shared<ModeHolder>(on, std::move(outer));
  s.emplace_back(
      core::Ref<ivalue::Object>::adopt(new ivalue::Object(std::move(holder), std::size_t{0})));
}
void end_mode(Stack& s) { drop(s, 1); }

// info of a decomposition: one number per matrix, not zero where it failed.
void check_decomposition(Stack& s) {
  drop(s, 1);  // is_matrix
  const std::string name = pop(s).toStringRef();
  const Tensor failed = pop(s).toTensor().ne(0).reshape({-1}).nonzero();
  TENON_CHECK(failed.numel() == 0, ValueError, name, ": matrix ", failed[0].item<int64_t>(),
              " of the batch is singular, or its decomposition did not converge");
}

void autocast(Stack& s) {
  const ScalarType dtype = pop(s).toScalarType();
  const Tensor t = pop(s).toTensor();
  const bool cast = t.is_floating_point() && t.scalar_type() != kDouble && t.scalar_type() != dtype;
  s.emplace_back(cast ? t.to(dtype) : t);
}

bool truth(const IValue& v) {
  if (v.isTensor()) return v.toTensor().item().to<bool>();
  if (v.isBool()) return v.toBool();
  return v.isInt() ? v.toInt() != 0 : v.toDouble() != 0;
}
void assert_true(Stack& s) {
  const IValue message = pop(s), v = pop(s);
  TENON_CHECK(truth(v), Error, "AssertionError: ", message.toStringRef());
}
void assert_tensor(Stack& s) {
  const IValue v = pop(s);
  TENON_CHECK(truth(v), Error, "AssertionError: the expected value is not true");
}

void constrain(Stack& s) {
  const IValue max = pop(s), min = pop(s), v = pop(s);
  const int64_t n = v.isInt() ? v.toInt() : static_cast<int64_t>(truth(v));
  TENON_CHECK((min.isNone() || n >= min.toInt()) && (max.isNone() || n <= max.toInt()), ValueError,
              "a size that the data decide is ", n, "; the program was exported for ", shown(min),
              " to ", shown(max));
}

// Checks of a functional program hand a token on, so that they are kept in order.
void assert_with_token(Stack& s) {
  const IValue token = pop(s);
  assert_true(s);
  s.push_back(token);
}
void make_token(Stack& s) {
  drop(s, 5);
  s.emplace_back(tenon::empty({0}, {}));
}

// Loops of vmap (formats/exported/vmap.cpp). An empty batch is computed for one element of zeros,
// since its results have sizes, too.
void batch_times(Stack& s) { s.emplace_back(std::max<int64_t>(pop_as<int64_t>(s), 1)); }
void batch_element(Stack& s) {
  const auto at = pop_as<int64_t>(s), dim = pop_as<int64_t>(s);
  const Tensor t = pop(s).toTensor();
  s.emplace_back(t.size(dim) == 0 ? t.sum(dim).to(t.scalar_type()) : t.select(dim, at));
}
void batch_of(Stack& s) {
  const auto count = pop_as<int64_t>(s), dim = pop_as<int64_t>(s);
  const Tensor all = tenon::stack(pop(s).to<std::vector<Tensor>>(), dim);
  s.emplace_back(count == 0 ? all.narrow(dim, 0, 0) : all);
}

#define CHECK_OP(schema, f) \
  { "exported::" schema " -> ()", f, nullptr, true }
const HostOperator list[] = {
    {"exported::check_sizes(Any value, str name, int[] sizes) -> int[]", check_sizes, nullptr,
     true},
    {"aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
     check_decomposition, nullptr, true},
    CHECK_OP("check_range(int value, int min, int max, str what)", check_range),
    CHECK_OP("check_equal(int value, int expected, str what, str other)", check_equal),
    CHECK_OP("check_guard(bool holds, str guard)", check_guard),
    CHECK_OP("check_constant(Any value, Any expected, str name)", check_constant),
    CHECK_OP("check_length(Any value, int expected, str name)", check_length),
    {"exported::batch_times(int size) -> int", batch_times},
    {"exported::batch_element(Tensor(a) self, int dim, int at) -> Tensor(a)", batch_element},
    {"exported::batch_of(Tensor[] elements, int dim, int size) -> Tensor", batch_of},
    {"exported::item(Any value, Any key, str name) -> Any", item},
    {"exported::write_back(Tensor(a!) target, Tensor value) -> ()", write_back, nullptr, true},
    {"exported::grad_mode(bool on, Any outer) -> Any", grad_mode, nullptr, true},
    CHECK_OP("end_mode(Any mode)", end_mode),
    {"exported::autocast(Tensor self, int dtype) -> Tensor", autocast},
    {"aten::_assert_scalar(Scalar self, str assert_msg) -> ()", assert_true, nullptr, true},
    {"aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", assert_true, nullptr, true},
    {"aten::_assert_async(Tensor self) -> ()", assert_tensor, nullptr, true},
    {"aten::_functional_assert_scalar(Scalar self, str assert_msg, Tensor dep_token) -> Tensor",
     assert_with_token, nullptr, true},
    {"aten::_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor",
     assert_with_token, nullptr, true},
    {"aten::_make_dep_token(*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     make_token},
    {"aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()", constrain,
     nullptr, true},
    {"aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
     constrain, nullptr, true},
};
#undef CHECK_OP
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
