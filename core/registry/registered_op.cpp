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
  static Records& all = *new Records;
  return all;
}
// At load: functions that must not throw ask it.
[[maybe_unused]] const Records& g_records_at_load = records();

thread_local OpRegistration* t_registration = nullptr;

Record* record_of(const Op& op) {
  Records& all = records();
  std::lock_guard hold(all.lock);
  auto it = all.by_index.find(op.index);
  return it == all.by_index.end() ? nullptr : it->second;
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

tn_value default_value(Record& record, const Arg& arg) {
  tn_value value{};
  if (!arg.def || *arg.def == "None") return value;
  const std::string& text = *arg.def;
  if (arg.type.list && arg.type.base == "int") {
    record.ints.push_back(numbers<int64_t>(text, number<int64_t>, arg.type.fixed));
    value.tag = TN_TAG_I64_LIST;
    value.len = static_cast<uint32_t>(record.ints.back().size());
    value.u.i64s = record.ints.back().data();
  } else if (arg.type.list && arg.type.base == "float") {
    record.floats.push_back(numbers<double>(text, real, arg.type.fixed));
    value.tag = TN_TAG_F64_LIST;
    value.len = static_cast<uint32_t>(record.floats.back().size());
    value.u.f64s = record.floats.back().data();
  } else if (text == "True" || text == "False") {
    value.tag = TN_TAG_BOOL;
    value.u.i64 = text == "True";
  } else if (arg.type.base == "str" && text.size() >= 2) {
    record.texts.push_back(text.substr(1, text.size() - 2));
    value.tag = TN_TAG_STR;
    value.len = static_cast<uint32_t>(record.texts.back().size());
    value.u.str = record.texts.back().c_str();
  } else if (arg.type.base == "float" ||
             (arg.type.base == "Scalar" && text.find_first_of(".ein") != std::string::npos)) {
    value.tag = TN_TAG_F64;
    value.u.f64 = real(text);
  } else if (arg.type.base == "int" || arg.type.base == "Scalar") {
    value.tag = TN_TAG_I64;
    value.u.i64 = number<int64_t>(text);
  } else {
    throw SchemaError(
        join("a default for an argument of type ", arg.type.base, " can only be None"));
  }
  return value;
}

void check_names(const Schema& schema) {
  TENON_CHECK(schema.name.find("::") != std::string::npos, ValueError, "register_op: '",
              schema.name, "' needs its vendor's name, as in vendor::", schema.name);
  TENON_CHECK(schema.args.size() <= kMaxArgs && schema.results.size() <= kMaxOutputs &&
                  !schema.results.empty(),
              ValueError, "register_op: '", schema.name, "' may have ", kMaxArgs,
              " arguments and 1 to ", kMaxOutputs, " results");
  for (const Result& r : schema.results) {
    TENON_CHECK(r.type.plain_tensor() && !r.type.optional, ValueError, "register_op: '",
                schema.name, "': results are tensors");
  }
}

std::unique_ptr<Op> make_op(Record& record, InferFn infer) {
  for (const Arg& arg : record.schema.args) {
    ArgInfo info{};
    info.name = arg.name.c_str();
    info.type = static_cast<ArgType>(type_index(arg.type));
    info.fixed = static_cast<uint8_t>(arg.type.fixed);
    info.lengths =
        arg.type.base == "bool" && arg.type.fixed > 0 ? uint8_t{kLengthFixed} : uint8_t{0};
    info.mutates = arg.mutates;
    info.keyword_only = arg.keyword_only;
    info.has_default = arg.def.has_value();
    info.def = arg.def ? arg.def->c_str() : "";
    info.value = default_value(record, arg);
    record.args.push_back(info);
  }
  for (const Result& x : record.schema.results)
    record.results.push_back({x.name.c_str(), ArgType::Tensor});
  auto op = std::make_unique<Op>();
  op->name = record.name.c_str();
  op->ident = record.ident.c_str();
  op->schema = record.schema.text.c_str();
  op->doc = "An op of a plugin's own.";
  op->family = "plugin";
  op->samples = "";
  op->dtypes = "all";
  op->kind = OpKind::Kernel;
  op->flags = kOpFunction | (record.dynamic ? uint32_t{kOpDynamic} : 0u);
  op->n_args = static_cast<uint8_t>(record.args.size());
  op->n_results = static_cast<uint8_t>(record.results.size());
  op->args = record.args.data();
  op->results = record.results.data();
  op->infer = infer;
  op->layout = record.layout.empty() ? nullptr : record.layout.c_str();
  return op;
}

std::string text_of(tn_str text) {
  return text.ptr ? std::string(text.ptr, text.len) : std::string();
}

// The same schema again, from a plugin that was opened a second time.
int renew(Op& op, const tn_schema& schema, const Schema& parsed) {
  Record* record = record_of(op);
  TENON_CHECK(record && record->schema.canonical == parsed.canonical &&
                  record->layout == text_of(schema.layout) &&
                  record->dynamic == (schema.infer == nullptr && record->layout.empty()),
              ValueError, "register_op: '", op.name, "' is registered already, as ", op.schema);
  TENON_CHECK(!record->present.load(), ValueError, "register_op: '", op.name,
              "' is registered already");
  record->infer.store(schema.infer);
  record->present.store(true, std::memory_order_release);
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
    for (const Arg& arg : parsed.args) (void)static_cast<ArgType>(type_index(arg.type));
  } catch (const std::exception& error) {  // of numbers, too
    throw ValueError(
        join("register_op: '", text_of(schema.text), "' is not a valid schema: ", error.what()));
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
  Record* record;
  {
    std::lock_guard hold(all.lock);
    record = &all.list.emplace_back();
  }
  record->schema = std::move(parsed);
  record->name = record->schema.full();
  record->ident = record->schema.ident();
  record->layout = text_of(schema.layout);
  record->dynamic = schema.infer == nullptr && record->layout.empty();
  record->rules = {text_of(schema.backward), schema.saved_in, schema.saved_out};
  record->infer.store(schema.infer);
  int at;
  try {
    at = add_op(make_op(*record, infer));
  } catch (const SchemaError& error) {
    throw ValueError(join("register_op: '", record->name, "': ", error.what()));
  }
  std::lock_guard hold(all.lock);
  all.by_index.emplace(at, record);
  record->present.store(true, std::memory_order_release);
  t_registration->added_.push_back(at);
  return at;
}

void withdraw_op(int index) noexcept {
  Record* record = record_of(op_at(index));
  if (!record) return;
  record->present.store(false, std::memory_order_release);
  record->infer.store(nullptr, std::memory_order_release);
}

InferOutputs infer_callback(const Op& op) {
  const Record& record = *record_of(op);
  TENON_CHECK(record.present.load(std::memory_order_acquire), NotImplementedError, op.name,
              ": the plugin that registered it is closed");
  return record.infer.load(std::memory_order_acquire);
}

const RegisteredOp* registered(const Op& op) noexcept {
  const Record* record = record_of(op);
  return record ? &record->rules : nullptr;
}

}  // namespace tenon::core
