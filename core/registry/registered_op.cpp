// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Ops that plugins register at run time: their schema's text becomes an entry like those of the
// build.
#include "core/registry/registered_op.h"

#include <charconv>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/registry/schema.h"
#include "runtime/base/leaf_mutex.h"
#include "tenon/core/layout.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

std::atomic<RegisteredCall> g_registered_call{nullptr};

namespace {

// What an op points into; lives as long as the process.
struct Record {
  Schema schema;
  std::string name, ident, layout;
  std::deque<std::string> texts;
  std::deque<std::vector<int64_t>> ints;
  std::deque<std::vector<double>> floats;
  std::vector<ArgInfo> args;
  std::vector<ResultInfo> results;
  RegisteredOp rules;
  std::atomic<InferOutputs> infer{nullptr};
  std::atomic<bool> present{false};
  bool dynamic = false;
};

struct Records {
  LeafMutex lock;
  std::deque<Record> list;
  std::unordered_map<int, Record*> by_index;
};

Records& records() {
  static Records& r = *new Records;
  return r;
}
// At load: functions that must not throw ask it.
[[maybe_unused]] const Records& g_records_at_load = records();

thread_local OpRegistration* t_registration = nullptr;

Record* record_of(const Op& op) {
  Records& r = records();
  std::lock_guard hold(r.lock);
  auto it = r.by_index.find(op.index);
  return it == r.by_index.end() ? nullptr : it->second;
}

template <class T>
T number(const std::string& text) {
  T v{};
  const char* end = text.data() + text.size();
  auto [p, error] = std::from_chars(text.data(), end, v);
  if (error != std::errc() || p != end)
    throw SchemaError(join("default '", text, "' is not a number"));
  return v;
}

double real(const std::string& text) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return text == "inf" ? kInf : text == "-inf" ? -kInf : number<double>(text);
}

template <class T>
std::vector<T> numbers(std::string text, T (*read)(const std::string&), int fixed) {
  if (!text.empty() && text.front() == '[') text = text.substr(1, text.size() - 2);
  std::vector<T> out;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string one = text.substr(0, comma);
    one.erase(0, one.find_first_not_of(' '));
    out.push_back(read(one));
    text.erase(0, comma + 1);
  }
  if (out.size() == 1 && fixed > 1) out.resize(static_cast<std::size_t>(fixed), out[0]);
  return out;
}

tn_value default_value(Record& r, const Arg& a) {
  tn_value v{};
  if (!a.def || *a.def == "None") return v;
  const std::string& d = *a.def;
  if (a.type.list && a.type.base == "int") {
    r.ints.push_back(numbers<int64_t>(d, number<int64_t>, a.type.fixed));
    v.tag = TN_TAG_I64_LIST;
    v.len = static_cast<uint32_t>(r.ints.back().size());
    v.u.i64s = r.ints.back().data();
  } else if (a.type.list && a.type.base == "float") {
    r.floats.push_back(numbers<double>(d, real, a.type.fixed));
    v.tag = TN_TAG_F64_LIST;
    v.len = static_cast<uint32_t>(r.floats.back().size());
    v.u.f64s = r.floats.back().data();
  } else if (d == "True" || d == "False") {
    v.tag = TN_TAG_BOOL;
    v.u.i64 = d == "True";
  } else if (a.type.base == "str" && d.size() >= 2) {
    r.texts.push_back(d.substr(1, d.size() - 2));
    v.tag = TN_TAG_STR;
    v.len = static_cast<uint32_t>(r.texts.back().size());
    v.u.str = r.texts.back().c_str();
  } else if (a.type.base == "float" ||
             (a.type.base == "Scalar" && d.find_first_of(".ein") != std::string::npos)) {
    v.tag = TN_TAG_F64;
    v.u.f64 = real(d);
  } else if (a.type.base == "int" || a.type.base == "Scalar") {
    v.tag = TN_TAG_I64;
    v.u.i64 = number<int64_t>(d);
  } else {
    throw SchemaError(join("a default for an argument of type ", a.type.base, " can only be None"));
  }
  return v;
}

void check_names(const Schema& s) {
  TENON_CHECK(s.name.find("::") != std::string::npos, ValueError, "register_op: '", s.name,
              "' needs its vendor's name, as in vendor::", s.name);
  TENON_CHECK(s.args.size() <= kMaxArgs && s.results.size() <= kMaxOutputs && !s.results.empty(),
              ValueError, "register_op: '", s.name, "' may have ", kMaxArgs, " arguments and 1 to ",
              kMaxOutputs, " results");
  for (const Result& r : s.results) {
    TENON_CHECK(r.type.plain_tensor() && !r.type.optional, ValueError, "register_op: '", s.name,
                "': results are tensors");
  }
}

std::unique_ptr<Op> make_op(Record& r, InferFn infer) {
  for (const Arg& a : r.schema.args) {
    ArgInfo info{};
    info.name = a.name.c_str();
    info.type = static_cast<ArgType>(type_index(a.type));
    info.fixed = static_cast<uint8_t>(a.type.fixed);
    info.lengths = a.type.base == "bool" && a.type.fixed > 0 ? uint8_t{kLengthFixed} : uint8_t{0};
    info.mutates = a.mutates;
    info.keyword_only = a.keyword_only;
    info.has_default = a.def.has_value();
    info.def = a.def ? a.def->c_str() : "";
    info.value = default_value(r, a);
    r.args.push_back(info);
  }
  for (const Result& x : r.schema.results) r.results.push_back({x.name.c_str(), ArgType::Tensor});
  auto op = std::make_unique<Op>();
  op->name = r.name.c_str();
  op->ident = r.ident.c_str();
  op->schema = r.schema.text.c_str();
  op->doc = "An op of a plugin's own.";
  op->family = "plugin";
  op->samples = "";
  op->dtypes = "all";
  op->kind = OpKind::Kernel;
  op->flags = kOpFunction | (r.dynamic ? uint32_t{kOpDynamic} : 0u);
  op->n_args = static_cast<uint8_t>(r.args.size());
  op->n_results = static_cast<uint8_t>(r.results.size());
  op->args = r.args.data();
  op->results = r.results.data();
  op->infer = infer;
  op->layout = r.layout.empty() ? nullptr : r.layout.c_str();
  return op;
}

std::string text_of(tn_str s) { return s.ptr ? std::string(s.ptr, s.len) : std::string(); }

// The same schema again, from a plugin that was opened a second time.
int renew(Op& op, const tn_schema& schema, const Schema& parsed) {
  Record* r = record_of(op);
  TENON_CHECK(r && r->schema.canonical == parsed.canonical && r->layout == text_of(schema.layout) &&
                  r->dynamic == (schema.infer == nullptr && r->layout.empty()),
              ValueError, "register_op: '", op.name, "' is registered already, as ", op.schema);
  TENON_CHECK(!r->present.load(), ValueError, "register_op: '", op.name, "' is registered already");
  r->infer.store(schema.infer);
  r->present.store(true, std::memory_order_release);
  return op.index;
}

}  // namespace

OpRegistration::OpRegistration() : outer_(t_registration) { t_registration = this; }
OpRegistration::~OpRegistration() {
  t_registration = outer_;
  for (int i : added_) withdraw_op(i);
}
std::vector<int> OpRegistration::keep() { return std::exchange(added_, {}); }

int add_registered_op(const tn_schema& given, InferFn infer) {
  TENON_CHECK(t_registration, ValueError,
              "register_op: only a plugin's init registers ops, on its own thread");
  tn_schema schema{};
  std::memcpy(&schema, &given, std::min(given.struct_size, sizeof schema));
  constexpr std::size_t kLongest = 4096;
  TENON_CHECK(schema.text.len <= kLongest && schema.backward.len <= kLongest &&
                  schema.layout.len <= kLongest,
              ValueError, "register_op: a text of the schema is longer than ", kLongest, " bytes");
  Schema parsed;
  try {
    parsed = parse_schema(text_of(schema.text));
    for (const Arg& a : parsed.args) (void)static_cast<ArgType>(type_index(a.type));
  } catch (const std::exception& e) {  // of numbers, too
    throw ValueError(
        join("register_op: '", text_of(schema.text), "' is not a valid schema: ", e.what()));
  }
  check_names(parsed);
  t_registration->added_.reserve(t_registration->added_.size() +
                                 1);  // nothing fails once it exists
  if (Op* op = find_op(parsed.full())) {
    const int at = renew(*op, schema, parsed);
    t_registration->added_.push_back(at);
    return at;
  }
  Records& all = records();
  Record* r;
  {
    std::lock_guard hold(all.lock);
    r = &all.list.emplace_back();
  }
  r->schema = std::move(parsed);
  r->name = r->schema.full();
  r->ident = r->schema.ident();
  r->layout = text_of(schema.layout);
  r->dynamic = schema.infer == nullptr && r->layout.empty();
  r->rules = {text_of(schema.backward), schema.saved_in, schema.saved_out};
  r->infer.store(schema.infer);
  int at;
  try {
    at = add_op(make_op(*r, infer));
  } catch (const SchemaError& e) {
    throw ValueError(join("register_op: '", r->name, "': ", e.what()));
  }
  std::lock_guard hold(all.lock);
  all.by_index.emplace(at, r);
  r->present.store(true, std::memory_order_release);
  t_registration->added_.push_back(at);
  return at;
}

void withdraw_op(int index) noexcept {
  Record* r = record_of(op_at(index));
  if (!r) return;
  r->present.store(false, std::memory_order_release);
  r->infer.store(nullptr, std::memory_order_release);
}

InferOutputs infer_callback(const Op& op) {
  const Record& r = *record_of(op);
  TENON_CHECK(r.present.load(std::memory_order_acquire), NotImplementedError, op.name,
              ": the plugin that registered it is closed");
  return r.infer.load(std::memory_order_acquire);
}

const RegisteredOp* registered(const Op& op) noexcept {
  const Record* r = record_of(op);
  return r ? &r->rules : nullptr;
}

}  // namespace tenon::core
