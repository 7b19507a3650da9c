// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls are recorded until two recordings of one kind are the same program. What differs from call
// to call is computed on the host, and the function stays as it is.
#include "tenon/jit/compile.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "jit/compile/kind.h"
#include "jit/compile/made_program.h"
#include "runtime/base/leaf_mutex.h"
#include "runtime/base/recursive_mutex.h"
#include "tenon/runtime/log.h"

namespace tenon::jit::detail {

namespace {

constexpr int kMaxRecordings = 5;  // of one kind and size

// Of all compiled functions: one call is recorded at a time, and who changes entries holds both.
core::RecursiveMutex g_recordings;
core::LeafMutex g_entries;
[[maybe_unused]] const int g_fork_handlers = pthread_atfork(
    [] { g_recordings.lock(); }, [] { g_recordings.unlock(); }, [] { g_recordings.unlock(); });

}  // namespace

struct CompiledCalls::State {
  struct Entry {
    compiled::ArgumentsKind kind;
    bool any_sizes = false;
    enum class Runs : uint8_t { Recorded, Program, Function };
    std::atomic<Runs> runs{Runs::Recorded};
    std::optional<compiled::MadeProgram> program;  // once it runs
    int recordings = 0;
    std::optional<compiled::RecordedCall> last;
  };

  State(Traceable traceable, CompileOptions o, std::shared_ptr<nn::Module> m)
      : f(std::move(traceable)), options(o), module(std::move(m)) {}

  std::shared_ptr<Entry> find(const compiled::ArgumentsKind& kind) const {
    const std::lock_guard lock(g_entries);
    for (const auto& e : entries)
      if (e->kind.key == kind.key && (e->any_sizes || e->kind.sizes == kind.sizes)) return e;
    return nullptr;
  }
  std::shared_ptr<Entry> add(const compiled::ArgumentsKind& kind);
  IValue record(Entry& entry, const std::vector<IValue>& arguments);
  void keep_function(Entry& entry, const std::string& why) const;
  std::vector<std::shared_ptr<Entry>> made() const;

  const Traceable f;
  const CompileOptions options;
  const std::shared_ptr<nn::Module> module;
  std::vector<std::shared_ptr<Entry>> entries;
};

void CompiledCalls::State::keep_function(Entry& entry, const std::string& why) const {
  tenon::warn("compile", "the function runs as it is: " + why);
  entry.last.reset();
  entry.runs.store(Entry::Runs::Function, std::memory_order_release);
  const std::lock_guard lock(g_entries);
  entry.any_sizes = true;
}

std::shared_ptr<CompiledCalls::State::Entry> CompiledCalls::State::add(
    const compiled::ArgumentsKind& kind) {
  auto entry = std::make_shared<Entry>();
  entry->kind = kind;
  {
    const std::lock_guard lock(g_entries);
    entries.push_back(entry);
  }
  if (entries.size() > options.max_programs)
    keep_function(*entry, core::join("it has ", options.max_programs, " programs"));
  return entry;
}

// Runs the function, whose result this is, too.
IValue CompiledCalls::State::record(Entry& entry, const std::vector<IValue>& arguments) {
  const auto of_kind = [&](const auto& e) {
    return e->kind.key == entry.kind.key && (e.get() == &entry || options.dynamic) && e->last;
  };
  const bool had_gradients = std::any_of(entries.begin(), entries.end(), [&](const auto& e) {
    return of_kind(e) && e->last->leaves_have_gradients();
  });
  compiled::RecordedCall now(f.run, arguments);
  IValue result = now.take_result();
  if (!now.problem().empty()) {
    keep_function(entry, now.problem());
    return result;
  }
  for (const auto& e : entries) {
    if (!of_kind(e) || !e->last->is_same_program(now)) continue;
    if (!e->program) {
      e->program.emplace(now, arguments, !had_gradients);
      e->runs.store(Entry::Runs::Program, std::memory_order_release);
    }
    const std::lock_guard lock(g_entries);
    if (e.get() == &entry) return result;
    e->any_sizes = true;
    std::erase_if(entries, [&](const auto& other) { return other.get() == &entry; });
    return result;
  }
  if (++entry.recordings < kMaxRecordings)
    entry.last = std::move(now);
  else
    keep_function(entry, "its operators change from call to call:\n" + now.difference(*entry.last));
  return result;
}

CompiledCalls::CompiledCalls(Traceable f, CompileOptions options,
                             std::shared_ptr<nn::Module> module)
    : state_(std::make_shared<State>(std::move(f), options, std::move(module))) {}

IValue CompiledCalls::call(std::vector<IValue> arguments) const {
  State& s = *state_;
  thread_local compiled::ArgumentsKind kind;
  if (!tracing_enabled() || is_tracing() || !compiled::find_kind(arguments, s.module.get(), kind))
    return s.f.run(std::move(arguments));
  using Runs = State::Entry::Runs;
  std::shared_ptr<State::Entry> entry = s.find(kind);
  if (!entry || entry->runs.load(std::memory_order_acquire) == Runs::Recorded) {
    const std::lock_guard lock(g_recordings);
    entry = s.find(kind);
    if (!entry) entry = s.add(kind);
    if (entry->runs == Runs::Recorded) return s.record(*entry, arguments);
  }
  if (entry->runs == Runs::Function || !entry->program->fits_now())
    return s.f.run(std::move(arguments));
  return entry->program->call(std::move(arguments));
}

std::vector<std::shared_ptr<CompiledCalls::State::Entry>> CompiledCalls::State::made() const {
  const std::lock_guard lock(g_entries);
  std::vector<std::shared_ptr<Entry>> out = entries;
  std::erase_if(out, [](const auto& e) { return e->runs != Entry::Runs::Program; });
  return out;
}

std::size_t CompiledCalls::programs() const { return state_->made().size(); }

std::string CompiledCalls::str() const {
  std::string out;
  for (const auto& e : state_->made()) out += e->program->str();
  return out;
}

void CompiledCalls::reset() {
  const std::lock_guard recordings(g_recordings);
  std::vector<std::shared_ptr<State::Entry>> gone;  // after the lock
  const std::lock_guard lock(g_entries);
  gone.swap(state_->entries);
}

}  // namespace tenon::jit::detail
