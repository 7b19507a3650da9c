// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Opening and closing: the part of Manager that touches libraries.
#include <algorithm>
#include <climits>
#include <new>

#include "manager.h"
#include "probe.h"
#include "process_state.h"
#include "runtime/base/settings.h"
#include "tenon/core/layout.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"
#include "transient.h"

namespace tenon::plugins {
namespace {

using Lock = std::lock_guard<core::RecursiveMutex>;

void fill_from_descriptor(Info& info, const Handshake& h) {
  info.name = text(h.plugin->name);
  info.device = text(h.plugin->device);
  info.version = text(h.plugin->version);
  info.vendor = text(h.plugin->vendor);
  info.kernels = h.report.kernels;
  info.quarantined = h.report.quarantined;
  info.state = h.why_no_device.empty() ? State::Opened : State::NoDevice;
  info.reason = h.why_no_device;
  if (info.state != State::Opened || !h.plugin->describe) return;
  constexpr std::size_t kMaxLength = 4096;
  tn_str line = h.plugin->describe();
  if (line.len <= kMaxLength) info.description = text(line);
}

// Whether a plugin is opened in a child process first, the time limit there, and what an error
// message adds about it.
struct Trial {
  int milliseconds = 0;  // 0: no trial
  const char* why = "";
};

Trial read_trial_settings(const Hashes& hashes) {
  constexpr int kDefault_ms = 10'000;
  const auto asked =
      core::number_setting("PLUGIN_PROBE", 0, INT_MAX, "only plugins without a hash are probed");
  if (asked) return {static_cast<int>(*asked), ""};
  if (!hashes.empty()) return {};
  return {kDefault_ms,
          ". It was opened in a child process first, as no manifest has a hash of it (`tenon "
          "manifest` writes "
          "one); TENON_PLUGIN_PROBE=0 disables that"};
}

}  // namespace

void Manager::open(Entry& e) {
  std::string why;
  e.retry = true;
  try {
    open_or_throw(e);
    e.retry = false;
    return;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& x) {
    why = x.what();
  } catch (...) {
    why = core::join(e.info.library, ": it threw something that is not a std::exception");
  }
  e.retry = is_transient(std::string_view(why));
  core::log(TN_LOG_WARNING,
            core::join("plugin ", e.info.name, e.retry ? " is not open yet: " : " refused: ", why));
  e.info.state = e.retry ? State::Found : State::Refused;
  e.info.reason = std::move(why);
}

void Manager::open_or_throw(Entry& e) {
  ScopedFlag mark(e.opening);
  CheckedFile file = check_file(e.info.library, e.manifest.hashes);
  for (auto& other : entries_) {
    if (other.get() != &e && other->library && other->id == file.id) {
      throw BackendError(
          core::join(e.info.library, ": the same file is known as plugin ", other->info.name));
    }
  }
  Expected expected;
  expected.name = e.manifest.name;
  expected.device = e.manifest.device;
  expected.priority = e.manifest.priority;
  for (auto& other : entries_) {
    if (other->info.state == State::Opened) expected.taken.push_back(other->info.name);
  }
  if (Entry* other = serving_variant(e)) {
    throw BackendError(core::join(e.info.library, ": variant ", e.info.variant, " of ",
                                  e.info.device, " is served by plugin ", other->info.name,
                                  "; unload that first"));
  }
  for (const std::string& l : e.info.layouts)
    core::reserve_layout(l);  // another plugin may provide it later
  probe(e, expected);
  e.id = file.id;
  ProcessState before;
  try {
    if (e.library == nullptr ||
        e.library->id() != file.id) {  // already open if a later step failed before
      e.library = Library::open(std::move(file), e.manifest.isolated, e.manifest.hashes);
    }
    e.handshake = negotiate(*e.library, expected);
  } catch (...) {
    (void)before.restore();
    throw;
  }
  fill_from_descriptor(e.info, e.handshake);
  e.info.changed = before.restore();
  for (const std::string& line : e.info.changed) {
    core::log(TN_LOG_WARNING,
              core::join("plugin ", e.info.name, ": ", line, " while it was opened; put back"));
  }
  for (const std::string& line : e.info.quarantined) {
    core::log(TN_LOG_WARNING, core::join("plugin ", e.info.name, ": left out ", line));
  }
  warn_of_copies(e);
}

// Does everything that opening does, and closing if the plugin allows it, in a child process that
// may crash.
void Manager::probe(const Entry& e, const Expected& expected) {
  const Trial trial = read_trial_settings(e.manifest.hashes);
  if (trial.milliseconds == 0) return;
  auto [fault, ended] = run_in_probe(
      [&](const std::function<void(const char*)>& step) -> std::string {
        Expected in_child = expected;
        in_child.step = step;
        in_child.rehearsal = true;
        step("opening");
        CheckedFile file = check_file(e.info.library, e.manifest.hashes);
        Library* library = Library::open(std::move(file), e.manifest.isolated, e.manifest.hashes);
        Handshake h = negotiate(*library, in_child);
        step("its texts");
        Info scratch;
        fill_from_descriptor(scratch, h);
        if (!(h.plugin->flags & TN_PLUGIN_UNLOADABLE)) return {};
        step("closing");
        if (h.why_no_device.empty() && h.plugin->shutdown) h.plugin->shutdown();
        Library::close(library);
        return {};
      },
      trial.milliseconds);
  if (fault.empty()) return;
  if (fault.rfind(e.info.library, 0) != 0) fault = core::join(e.info.library, ": ", fault);
  throw BackendError(ended ? fault + trial.why : fault);
}

// Two versions of one third-party library in a process are a common cause of crashes that are hard
// to explain.
void Manager::warn_of_copies(const Entry& e) {
  for (auto& other : entries_) {
    if (other.get() == &e || other->info.state != State::Opened) continue;
    for (const auto& [soname, version] : e.manifest.third_party) {
      auto it = other->manifest.third_party.find(soname);
      if (it == other->manifest.third_party.end() || it->second == version) continue;
      core::log(TN_LOG_WARNING,
                core::join("plugins ", e.info.name, " and ", other->info.name,
                           " were built against ", soname, " ", version, " and ", it->second));
    }
  }
}

Info Manager::load(const fs::path& given) {
  Lock lock(mutex_);
  scan();
  if (!given.has_parent_path()) {
    throw BackendError(core::join("plugin ", given.string(),
                                  ": a bare name is not searched for; expected a path, ./",
                                  given.string(), " if it is in the current directory"));
  }
  std::error_code ec;
  fs::path path = fs::canonical(given, ec);
  if (ec) throw BackendError(core::join("plugin ", given.string(), ": ", ec.message()));
  Manifest manifest;
  bool has_manifest = path.extension() == ".json";
  if (has_manifest) {
    manifest = read_manifest(path);
    if (std::string why = why_unsuitable(manifest); !why.empty())
      throw BackendError(core::join(path.string(), ": ", why));
    const fs::path named = manifest.library;
    path = fs::weakly_canonical(named, ec);
    if (ec)
      throw BackendError(core::join("manifest ", manifest.file.string(), ": its library ",
                                    named.string(), ": ", ec.message()));
  }
  Entry* e = find_library(path);
  if (e && e->info.state == State::Opened && !e->opening) return e->info;
  if (e && e->opening)
    throw BackendError(core::join(path.string(), ": it is being opened or closed"));
  if (!e) {
    Info info;
    info.name = has_manifest ? manifest.name : path.stem().string();
    info.library = path.string();
    e = &add(std::move(info), {});
  }
  if (has_manifest) {
    e->info.manifest = manifest.file.string();
    e->info.layouts = manifest.layouts;
    e->info.operators = manifest.operators;
    e->info.priority = manifest.priority;
    e->info.variant = manifest.variant;
    e->info.device = manifest.device;
    e->manifest = std::move(manifest);
  }
  open(*e);
  if (e->retry || e->info.state == State::Refused) throw BackendError(e->info.reason);
  return e->info;
}

void Manager::unload(std::string_view name) {
  std::unique_lock<core::RecursiveMutex> lock(mutex_);
  auto it = std::find_if(entries_.begin(), entries_.end(), [&](auto& e) {
    return e->info.name == name && (e->info.state == State::Opened);
  });
  TENON_CHECK(it != entries_.end(), ValueError, "unload: no open plugin is named '", name, "'");
  Entry& e = **it;
  TENON_CHECK(e.handshake.plugin->flags & TN_PLUGIN_UNLOADABLE, ValueError, "unload: plugin ", name,
              " does not say that it can be unloaded (TN_PLUGIN_UNLOADABLE)");
  TENON_CHECK(!e.opening, ValueError, "unload: plugin ", name,
              " is being closed by another thread");
  ScopedFlag mark(e.opening);
  lock.unlock();  // calls that release_plugin waits for may need it
  try {
    release_plugin(e.handshake);
  } catch (const Error& x) {
    lock.lock();
    core::throw_error(x.code(), core::join("unload: plugin ", name, ": ", x.msg()));
  }
  lock.lock();
  e.info.state = State::Closed;
  e.info.reason = Library::close(e.library)
                      ? "unloaded"
                      : "unloaded; its code stays mapped (a thread or another library holds it)";
  e.library = nullptr;
}

}  // namespace tenon::plugins
