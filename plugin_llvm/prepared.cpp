// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/prepared.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <unordered_map>

#include "plugin_llvm/compiled.h"
#include "tenon/sdk/loop_program/cache.h"
#include "tenon/sdk/loop_program/tensors.h"

namespace tenon::llvm_loops {
namespace {

using Shared = std::shared_ptr<const Prepared>;

constexpr std::size_t kMaxPrepared = 512;

// Points times nodes; 0 where a reduction has no terms or an array of indirect reads no elements.
int64_t work_of(const lp::Program& program, const lp::Binding& binding) {
  int64_t work = 1;
  for (std::size_t n = 0; n < program.nests.size(); ++n) {
    const int64_t points = numel(binding.extents[n]);
    for (const lp::Store& it : program.nests[n].stores)
      if (points == 0 && it.from_neutral) return 0;
    for (const lp::Node& node : program.nests[n].nodes)
      for (const lp::Index& it : node.indices)
        if (it.bound != lp::Bound::kProven &&
            numel(binding.shapes[static_cast<std::size_t>(node.source)]) == 0)
          return 0;
    work += points * static_cast<int64_t>(program.nests[n].nodes.size());
  }
  return work;
}

bool has_integers(const lp::Program& program) {
  return std::any_of(program.parameters.begin(), program.parameters.end(),
                     [](const lp::Parameter& it) { return it.dtype == lp::Dtype::kInt64; });
}

int64_t bytes_of(const Prepared& p, std::size_t array) {
  return numel(p.binding.shapes[array]) * lp::itemsize(p.program->arrays[array].dtype);
}

void place(Prepared& p, const Given& call) {
  int64_t next_input = 0, next_output = 0;
  for (std::size_t a = 0; a < p.program->arrays.size(); ++a) {
    const lp::Array& it = p.program->arrays[a];
    if (it.role == lp::Role::kTemporary) {
      p.placements.push_back(lp::row_major(p.binding.shapes[a]));
      continue;
    }
    const sdk::Tensor& t =
        it.role == lp::Role::kInput ? call.inputs[next_input++] : call.outputs[next_output++];
    p.placements.push_back({0, {t.strides().begin(), t.strides().end()}});
  }
}

void find_cleared(Prepared& p) {
  for (std::size_t a = 0; a < p.program->arrays.size(); ++a)
    if (p.program->arrays[a].role != lp::Role::kInput && !p.fused.unwritten[a] &&
        numel(p.binding.shapes[a]) > 0 &&
        !lp::starts_covered(*p.program, p.binding, static_cast<int>(a)))
      p.cleared.push_back(static_cast<int>(a));
}

// All temporaries but those of slots, and what is not written.
void place_temporaries(Prepared& p) {
  std::vector<bool> elsewhere = p.fused.unwritten;
  for (const Prepared::Stage& stage : p.stages)
    for (const Prepared::Stage::Local& it : stage.locals)
      elsewhere[static_cast<std::size_t>(it.array)] = true;
  for (std::size_t a = 0; a < p.program->arrays.size(); ++a) {
    const bool here = p.program->arrays[a].role == lp::Role::kTemporary && !elsewhere[a];
    p.temporaries.push_back(here ? p.workspace : -1);
    if (here) p.workspace += aligned(bytes_of(p, a));
  }
  p.copies = p.workspace;
  int64_t most = 0;
  for (const Prepared::Part& part : p.parts) {
    int64_t bytes = 0, slot = 0;
    for (const Pack& it : part.plan.packs)
      bytes += aligned(bytes_of(p, static_cast<std::size_t>(it.array)));
    for (const Panel& it : part.plan.panels) slot += aligned(it.bytes);
    most = std::max(most, bytes);
    p.slot = std::max(p.slot, slot);
  }
  p.workspace += most;
}

class Builder {
 public:
  Builder(Prepared& p, std::string_view text) : p_(p), text_(text) {}

  // As many groups from each on as can run over rows.
  bool add(Band band) {
    while (!band.row.empty()) {
      const std::size_t n = std::max<std::size_t>(1, add_rows(band));
      if (n == 1) add_alone(p_.fused.groups[band.first]);
      band.first += n;
      band.row.erase(band.row.begin(), band.row.begin() + static_cast<std::ptrdiff_t>(n));
    }
    for (Prepared::Part& it : p_.parts)
      if (!it.kernel) it.kernel = find_kernel(it.plan.spec, text_);
    return std::all_of(p_.parts.begin(), p_.parts.end(), [](const auto& it) { return it.kernel; });
  }

 private:
  void add_alone(const Group& group) {
    if (points_of(group) == 0) return;
    p_.stages.push_back({p_.parts.size(), 1, 0, 0, {}});
    p_.parts.push_back({make(group, -1), nullptr, {}});
  }

  int64_t points_of(const Group& group) const {
    return numel(p_.binding.extents[static_cast<std::size_t>(group.nest)]);
  }
  Plan make(const Group& group, int row) const {
    return make_plan(p_.fused.program, group, p_.binding, p_.placements, lanes(), row);
  }

  // How many groups it has added.
  std::size_t add_rows(Band band) {
    std::vector<Prepared::Part> parts;
    int64_t step = 1, points = 0;
    while (band.row.size() > 1 && parts.size() < band.row.size()) {
      const Group& it = p_.fused.groups[band.first + parts.size()];
      const int row = band.row[parts.size()];
      Plan plan = make(it, row);
      const std::optional<Rows> rows = find_rows(plan, row, band.rows);
      if (!rows) break;
      step = std::lcm(step, rows->rows);
      points += points_of(it) / band.rows;
      parts.push_back({std::move(plan), nullptr, *rows});
    }
    if (parts.size() < 2) return 0;
    band.row.resize(parts.size());
    step *= std::max<int64_t>(1, kBandPoints / (points * step));
    p_.stages.push_back({p_.parts.size(), parts.size(), band.rows, step, locals(band, step)});
    std::move(parts.begin(), parts.end(), std::back_inserter(p_.parts));
    return band.row.size();
  }

  std::vector<Prepared::Stage::Local> locals(const Band& band, int64_t step) {
    std::vector<Prepared::Stage::Local> list;
    int64_t bytes = 0;
    for (const int a : find_locals(p_.fused, band)) {
      if (std::count(p_.cleared.begin(), p_.cleared.end(), a) > 0) continue;
      const auto array = static_cast<std::size_t>(a);
      list.push_back({a, bytes_of(p_, array) / p_.binding.shapes[array][0]});
      bytes += aligned(list.back().row * step);
    }
    p_.slot = std::max(p_.slot, bytes);
    return list;
  }

  static constexpr int64_t kBandPoints = 1 << 14;  // of a task, at least if rows are short

  Prepared& p_;
  std::string_view text_;
};

Shared make(const Given& call, std::shared_ptr<const lp::Program> program, int64_t min_work) {
  auto p = std::make_shared<Prepared>();
  p->program = std::move(program);
  p->binding = lp::bind_call(*p->program, lp::given(call.outputs), lp::given(call.inputs),
                             {call.numbers.begin(), call.numbers.end()},
                             {call.reals.begin(), call.reals.end()});
  p->has_integers = has_integers(*p->program);
  const int64_t work = work_of(*p->program, p->binding);
  if (work == 0 || work < min_work) return nullptr;
  const std::vector<Group> groups = groups_of(*p->program);
  if (groups.empty()) return nullptr;
  p->fused = fuse(*p->program, p->binding, groups);
  place(*p, call);
  find_cleared(*p);
  Builder builder(*p, call.text);
  for (const Band& it : find_bands(p->fused, p->binding))
    if (!builder.add(it)) return nullptr;
  place_temporaries(*p);
  return p;
}

// f(data, bytes) for all that a Prepared depends on; the real parameters are the call's.
template <class F>
void visit(const Given& call, F f) {
  const auto list = [&](const sdk::Ints& it) { f(it.data(), it.size() * sizeof(int64_t)); };
  f(call.text.data(), call.text.size());
  for (const sdk::TensorList& tensors : {call.outputs, call.inputs})
    for (int64_t i = 0; i < tensors.size(); ++i) {
      const sdk::DType dtype = tensors[i].dtype();
      const int32_t facts[] = {dtype.code, dtype.bits, tensors[i].ndim()};
      f(facts, sizeof facts);
      list(tensors[i].sizes());
      list(tensors[i].strides());
    }
  list(call.numbers);
  const int64_t counts[] = {call.outputs.size(), static_cast<int64_t>(call.reals.size())};
  f(counts, sizeof counts);
}

std::string_view bytes(const void* data, std::size_t n) {
  return {static_cast<const char*>(data), n};
}

std::size_t hash_of(const Given& call) {
  std::size_t hash = 0;
  visit(call, [&](const void* data, std::size_t n) {
    hash = hash * 31 + std::hash<std::string_view>()(bytes(data, n));
  });
  return hash;
}

std::string key_of(const Given& call) {
  std::string key;
  visit(call, [&](const void* data, std::size_t n) { key += bytes(data, n); });
  return key;
}

bool is_key_of(std::string_view key, const Given& call) {
  bool same = true;
  visit(call, [&](const void* data, std::size_t n) {
    same = same && key.substr(0, n) == bytes(data, n);
    key.remove_prefix(std::min(n, key.size()));
  });
  return same && key.empty();
}

struct Kept {
  std::string key;
  Shared prepared;  // null: left to other kernels
};

}  // namespace

// The lock is only tried: who does not get it prepares for itself, also a child of a fork.
Shared prepare(const Given& call, int64_t min_work) {
  static auto& programs = *new lp::Cache;
  static auto& all = *new std::unordered_map<std::size_t, Kept>;
  static std::mutex mutex;
  if (lanes() == 0) return nullptr;
  const std::size_t hash = hash_of(call);
  if (const std::unique_lock<std::mutex> lock(mutex, std::try_to_lock); lock) {
    const auto at = all.find(hash);
    if (at != all.end() && is_key_of(at->second.key, call)) return at->second.prepared;
  }
  std::shared_ptr<const lp::Program> program = programs.get(call.text);
  const bool keeps = !has_integers(*program);
  Shared made = make(call, std::move(program), min_work);
  const std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock || !keeps) return made;
  if (all.size() >= kMaxPrepared) all.clear();
  all[hash] = {key_of(call), made};
  return made;
}

}  // namespace tenon::llvm_loops
