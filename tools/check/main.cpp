// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// tenon_check: walks rows x samples x dtypes x memory layouts on a device and compares with the reference.
#include <algorithm>
#include <iostream>
#include <regex>
#include <set>

#include <CLI/CLI.hpp>

#include "../oracle/workers.h"
#include "cell.h"
#include "report.h"
#include "samples.h"
#include "tenon/core/device.h"
#include "tenon/core/error.h"

namespace {

using namespace tenon::check;
using tenon::ScalarType;
using tenon::oracle::Line;
using tenon::oracle::Send;
namespace core = tenon::core;

struct Options {
  std::string device = "cpu", reference = "ref", op = ".*", cases = "tests/oracle", calls = "tests/check/calls",
              few = "tests/check/few.txt";
  int processes = 2, seconds = 60, least = 12;
  std::size_t samples = 1000;  // more than any row has
  int shard = 0, shards = 1;
  bool no_gradients = false, list = false, table = false;
};

constexpr ScalarType kDtypes[] = {tenon::kDouble, tenon::kFloat, tenon::kHalf, tenon::kBFloat16, tenon::kInt64,
                                  tenon::kInt32,  tenon::kInt16, tenon::kInt8, tenon::kUInt8,    tenon::kBool};

// -1 as the slot when the device is not there.
Place find_place(const std::string& device) {
  try {
    tenon::Device d(device);
    return {core::usable_slot(d.type()), std::max<int>(0, d.index())};
  } catch (const tenon::Error&) {
  }
  return {-1, 0};
}

enum class Task { Cell, Large, Gradients, Unclaimed, BadArguments, OtherShapes, Whole, Refused };
constexpr const char* kTaskNames[] = {"",      "large",  "gradient", "unclaimed", "bad arguments", "other shapes",
                                      "whole", "refused"};

struct Item {
  Task task;
  std::size_t spec;
  ScalarType dtype;
  Memory memory;
};

class Row {
 public:
  Row(const core::Op& op, const Options& o, const CaseLibrary& library, const CallFiles& calls)
      : op_(op), place_(find_place(o.device)), reference_(find_place(o.reference)) {
    TENON_CHECK(place_.slot >= 0, ValueError, "device ", o.device, " is not there");
    TENON_CHECK(reference_.slot >= 0, ValueError, "reference device ", o.reference, " is not there");
    specs_ = library.specs(op, o.samples);
    cases_ = specs_.size();
    bool only_large = true;
    for (Spec& s : calls.specs(op)) {
      only_large = only_large && s.large;
      specs_.push_back(std::move(s));
    }
    if (only_large) {
      for (Spec& s : generated(op)) specs_.push_back(std::move(s));
    }
    list_items(!o.no_gradients && place_.slot == 0);
    refused_ = library.refused(op);
    for (std::size_t s = 0; s < refused_.size() && place_.slot == 0; ++s) {
      items_.push_back({Task::Refused, s, refused_[s].main, Memory::Contiguous});
    }
  }
  bool has_samples() const { return !specs_.empty(); }
  void run(int first, const Send& send);

 private:
  void list_items(bool gradients);
  void list_cells(std::size_t s);
  bool fits(const Spec& s, ScalarType t) const;
  std::string id_of(const Item& item) const;
  Findings findings_of(const Item& item);
  Findings claims() const;

  const core::Op& op_;
  Place place_, reference_;
  std::vector<Spec> specs_, refused_;
  std::size_t cases_;
  std::vector<Item> items_;
  std::set<ScalarType> tried_, worked_;
};

// Whether the row takes the sample as it is.
bool works(const core::Op& op, const Spec& s) {
  if (s.large) return false;
  try {
    Built inputs(s, s.main, Memory::Contiguous, Place{});
    call_row(op, inputs.values());
    return true;
  } catch (const tenon::Error&) {
    return false;
  }
}

bool Row::fits(const Spec& s, ScalarType t) const {
  if (s.main == tenon::kBool) return t == tenon::kBool;
  return isFloatingType(s.main) || !isFloatingType(t);
}

// float32 and float64 in every layout, the others row-major and in one more, another one each.
void Row::list_cells(std::size_t s) {
  core::DtypeMask claimed = core::parse_dtype_mask(op_.dtypes);
  std::size_t turn = s;
  for (ScalarType t : kDtypes) {
    if (!claimed.has(t) || !fits(specs_[s], t)) continue;
    if (specs_[s].large) {
      if (t == tenon::kDouble || t == tenon::kFloat || t == tenon::kInt64) {
        items_.push_back({Task::Large, s, t, Memory::Contiguous});
      }
      continue;
    }
    const bool tensors =
        std::any_of(specs_[s].args.begin(), specs_[s].args.end(), [](const SpecArg& a) { return !a.tensors.empty(); });
    bool all = s < cases_ && (t == tenon::kDouble || t == tenon::kFloat || t == specs_[s].main);
    items_.push_back({Task::Cell, s, t, Memory::Contiguous});
    if (!tensors) continue;  // that could lie otherwise
    for (Memory m : kMemories) {
      if (all && m != Memory::Contiguous) items_.push_back({Task::Cell, s, t, m});
    }
    if (!all) items_.push_back({Task::Cell, s, t, kMemories[1 + turn++ % 4]});
  }
}

void Row::list_items(bool gradients) {
  core::DtypeMask claimed = core::parse_dtype_mask(op_.dtypes);
  for (std::size_t s = 0; s < specs_.size(); ++s) {
    list_cells(s);
    if (!gradients || specs_[s].large || !isFloatingType(specs_[s].main) || !claimed.has(tenon::kDouble)) continue;
    items_.push_back({Task::Gradients, s, tenon::kDouble, Memory::Contiguous});
    if (!addresses_storage(op_)) items_.push_back({Task::Gradients, s, tenon::kDouble, Memory::Transposed});
  }
  auto valid = std::find_if(specs_.begin(), specs_.end(), [&](const Spec& s) { return works(op_, s); });
  if (valid == specs_.end()) return;
  auto s = static_cast<std::size_t>(valid - specs_.begin());
  auto last = std::find_if(specs_.rbegin(), specs_.rend(), [&](const Spec& spec) { return works(op_, spec); });
  auto other = static_cast<std::size_t>(specs_.rend() - last) - 1;
  if (other != s && place_.slot == 0) items_.push_back({Task::Whole, other, last->main, Memory::Contiguous});
  items_.push_back({Task::BadArguments, s, valid->main, Memory::Contiguous});
  items_.push_back({Task::OtherShapes, s, valid->main, Memory::Contiguous});
  for (ScalarType t : kDtypes) {
    if (!claimed.has(t))
      items_.push_back({Task::Unclaimed, s, t, Memory::Contiguous});
    else if (place_.slot == 0 && fits(*valid, t))
      items_.push_back({Task::Whole, s, t, Memory::Contiguous});
  }
}

std::string Row::id_of(const Item& item) const {
  const Spec& spec = item.task == Task::Refused ? refused_[item.spec] : specs_[item.spec];
  return core::join(op_.name, " ", kTaskNames[static_cast<int>(item.task)], item.task == Task::Cell ? "" : " ",
                    dtype_name(item.dtype), " ", name(item.memory), " (", spec.origin, ")");
}

Findings Row::findings_of(const Item& item) {
  if (item.task == Task::Refused) return run_refused(op_, refused_[item.spec]);
  const Spec& spec = specs_[item.spec];
  Cell cell{op_, spec, item.dtype, item.memory, place_};
  switch (item.task) {
    case Task::Large:
      return run_large(cell);
    case Task::Gradients:
      return run_gradients(op_, spec, item.memory);
    case Task::Unclaimed:
      return run_unclaimed(cell);
    case Task::BadArguments:
      return run_bad_arguments(cell, reference_);
    case Task::OtherShapes:
      return run_other_shapes(cell, reference_);
    case Task::Whole:
      return run_whole(cell, reference_);
    default:
      break;
  }
  Findings out = run_cell(cell, reference_, item.memory == Memory::Contiguous || item.memory == Memory::Transposed);
  tried_.insert(item.dtype);
  for (const Finding& f : out.all()) {
    if (f.property == Property::Dtypes && f.verdict == Verdict::Passed) worked_.insert(item.dtype);
  }
  return out;
}

// A dtype that the row claims works in one sample at least.
Findings Row::claims() const {
  Findings out;
  for (ScalarType t : tried_) {
    if (!worked_.count(t)) {
      out.failed(Property::Dtypes, core::join("the row claims ", dtype_name(t), " and refuses it in every sample"));
    }
  }
  return out;
}

void Row::run(int first, const Send& send) {
  for (int i = first; i < static_cast<int>(items_.size()); ++i) {
    const Item& item = items_[static_cast<std::size_t>(i)];
    std::string id = id_of(item);
    send({"start", std::to_string(i) + " " + id});
    Findings found;
    try {
      found = findings_of(item);
    } catch (const std::exception& e) {
      found.failed(Property::Values, core::join("threw: ", e.what()));
    }
    if (!found.all().empty()) send({"found", encode(id, found)});
  }
  Findings found = claims();
  if (first == 0 && !found.all().empty()) send({"found", encode(op_.name, found)});
}

int run(const Options& o) {
  std::regex wanted(o.op);
  std::vector<const core::Op*> ops;
  for (int i = 0; i < core::op_count(); ++i) {
    core::Op& op = core::op_at(i);
    if (i % o.shards == o.shard && op.row_call.load() && std::regex_search(op.name, wanted)) ops.push_back(&op);
  }
  CaseLibrary library(o.cases);
  CallFiles calls(o.calls);
  for (const std::string& row : calls.unknown_rows()) throw tenon::ValueError(o.calls + ": there is no row " + row);
  // Elsewhere, and without gradients, fewer properties are tried.
  const bool all = o.device == "cpu" && !o.no_gradients;
  Report report(o.list, o.table, all ? o.least : 0, all ? read_reasons(o.few) : std::map<std::string, std::string>());
  tenon::oracle::Work work;
  work.files = static_cast<int>(ops.size());
  work.run = [&](int f, int first, const Send& send) {
    const core::Op& op = *ops[static_cast<std::size_t>(f)];
    try {
      Row row(op, o, library, calls);
      if (!row.has_samples()) send({"none", op.name});
      row.run(first, send);
    } catch (const std::exception& e) {
      Findings found;
      found.failed(Property::Values, core::join("samples: ", e.what()));
      send({"found", encode(op.name, found)});
    }
  };
  work.receive = [&](const Line& l) { l.kind == "none" ? report.no_samples(l.text) : report.add(l.text); };
  work.died = [&](const std::string& id, int signal) { report.died(id, signal); };
  tenon::oracle::run_all(work, o.processes, o.seconds);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Checks every row on a device: values against the reference, and all that property.h lists."};
  app.add_option("--device", o.device, "the device to check");
  app.add_option("--reference", o.reference, "the device that is right");
  app.add_option("--op", o.op, "only rows in whose name this regular expression is found");
  app.add_option("--cases", o.cases, "folder of oracle cases that give arguments");
  app.add_option("--calls", o.calls, "folder of calls to try");
  app.add_option("--few", o.few, "says of rows with few properties why");
  app.add_option("--least", o.least, "properties that each other row must have");
  app.add_option("--samples", o.samples, "cases to take for one row");
  app.add_option("--shard", o.shard, "run this share of the rows, counted from 0")->check(CLI::NonNegativeNumber);
  app.add_option("--shards", o.shards, "shares that the rows are cut into")->check(CLI::PositiveNumber);
  app.add_option("-j", o.processes, "processes; 0 runs in this one");
  app.add_option("--seconds", o.seconds, "time for one cell");
  app.add_flag("--no-gradients", o.no_gradients, "leave gradcheck out");
  app.add_flag("--list", o.list, "say of each check that is not run why");
  app.add_flag("--table", o.table, "a line for each row");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(o);
  } catch (const std::exception& e) {
    std::cerr << "tenon_check: " << e.what() << "\n";
    return 2;
  }
}
