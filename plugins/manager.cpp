// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "manager.h"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <new>

#include "tenon/core/layout.h"
#include "tenon/core/op.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"
#include "transient.h"

namespace tenon::plugins {
namespace {

using Lock = std::lock_guard<core::RecursiveMutex>;

fs::path canonical_or_same(const fs::path& p) {
  std::error_code ec;
  fs::path out = fs::canonical(p, ec);
  if (ec && is_transient(ec.value())) system_fault(p.string(), "cannot be found", ec.value());
  return ec ? p : out;
}

// "libtenon_cpu.so" -> "cpu"
std::string name_of_file(const fs::path& file) {
  std::string stem = file.stem().string();
  return stem.rfind("libtenon_", 0) == 0 ? stem.substr(9) : stem;
}

bool contains(const std::vector<std::string>& list, std::string_view x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

// Whether it opens at the first call of its operators, which all have to be such that say so: with
// one that does not, it opens with its device.
bool waits_for_call(const Info& i) {
  return !i.operators.empty() &&
         std::all_of(i.operators.begin(), i.operators.end(), [](const std::string& name) {
           const core::Op* op = core::find_op(name);
           return op != nullptr && (op->flags & core::kOpOnDemand) != 0;
         });
}

// Of a plugin that was found.
std::string when_it_opens(const Info& i) {
  std::string out = core::join("it opens at the first use of device ", i.device);
  for (const std::string& l : i.layouts)
    out += core::join(&l == &i.layouts.front() ? " with layout " : " or ", l);
  return out;
}

Info info_of(const Manifest& m) {
  Info out;
  out.name = m.name;
  out.device = m.device;
  for (const std::string& l : m.layouts) {
    if (l != "strided") out.layouts.push_back(l);
  }
  out.operators = m.operators;
  out.library = canonical_or_same(m.library).string();
  out.manifest = m.file.string();
  out.priority = m.priority;
  out.variant = m.variant;
  return out;
}

}  // namespace

Manager& Manager::get() {
  static Manager* m = [] {
    auto made = std::make_unique<Manager>();
    if (pthread_atfork([] { Manager::get().lock_for_fork(); },
                       [] { Manager::get().unlock_after_fork(); },
                       [] { Manager::get().unlock_after_fork(); }) != 0) {
      throw std::bad_alloc();
    }
    return made.release();
  }();
  return *m;
}

// Made at load, while there is one thread: a child forked during the first use would wait forever.
[[maybe_unused]] static const Manager& g_manager_at_load = Manager::get();

void Manager::scan() {
  Lock lock(mutex_);
  const bool opening =
      std::any_of(entries_.begin(), entries_.end(), [](auto& e) { return e->opening; });
  if (scanned_ || scanning_ || opening) return;
  const ScopedFlag mark(scanning_);
  forget_found();
  transient_.clear();
  path_ = search_path();
  for (const std::string& text : path_.ignored) core::log(TN_LOG_WARNING, text);
  for (const fs::path& folder : path_.folders) scan_folder(folder);
  for (auto& e : entries_) {
    if (e->info.state == State::Found) reserve_device_name(e->info);
  }
  scanned_ = transient_.empty();
}

// Drops what a scan found that was cut short by a transient fault: the next scan finds it again, in
// search order.
void Manager::forget_found() {
  const auto is_idle = [](auto& e) {
    return e->library == nullptr && e->info.state != State::Closed;
  };
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(), is_idle), entries_.end());
}

// Makes the device of a manifest known by name: its first use opens the plugin.
void Manager::reserve_device_name(Info& info) {
  if (info.device == "any" || info.device == "none") return;  // not devices
  try {
    core::reserve_device(info.device);
  } catch (const Error& e) {
    info.state = State::Refused;
    info.reason = e.msg();
  }
}

void Manager::scan_folder(const fs::path& folder) {
  const auto collect_transient = [this](auto&& step) {
    try {
      step();
    } catch (const BackendError& e) {
      if (!is_transient(e.msg())) throw;
      transient_.push_back(e.msg());
    }
  };
  FolderContents found;
  collect_transient([&] { found = read_folder(folder); });
  for (const fs::path& file : found.manifests) collect_transient([&] { add_manifest(file); });
  for (const fs::path& file : found.libraries) collect_transient([&] { add_bare_library(file); });
}

void Manager::add_manifest(const fs::path& file) {
  try {
    Manifest m = read_manifest(file);
    Info info = info_of(m);
    if (find_library(info.library))
      return;  // the same file through another folder, or loaded already
    if (std::string why = why_filtered_out(m.name); !why.empty()) {
      info.state = State::Disabled;
      info.reason = why;
    } else if (Entry* other = find_name(m.name)) {
      info.state = State::Refused;
      info.reason =
          core::join("another plugin named '", m.name, "' was found first: ", other->info.library);
    } else if (why = why_unsuitable(m); !why.empty()) {
      info.state = State::Refused;
      info.reason = why;
    }
    add(std::move(info), std::move(m));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    if (is_transient(std::string_view(e.what()))) throw;
    Info info;
    info.name = name_of_file(file);
    info.manifest = file.string();
    info.library = canonical_or_same(fs::path(file).replace_extension(".so")).string();
    info.state = State::Refused;
    info.reason = e.what();
    add(std::move(info), {});
  }
}

void Manager::add_bare_library(const fs::path& file) {
  Info info;
  info.name = name_of_file(file);
  info.library = canonical_or_same(file).string();
  if (find_library(info.library)) return;
  info.state = State::Refused;
  info.reason = "no manifest: only an explicit load opens it";
  add(std::move(info), {});
}

// The plugin of that name that is open, or can be opened.
Manager::Entry* Manager::find_name(std::string_view name) {
  for (auto& e : entries_) {
    if (e->info.name == name && (e->info.state == State::Found || e->info.state == State::Opened))
      return e.get();
  }
  return nullptr;
}

Manager::Entry* Manager::find_library(const fs::path& canonical) {
  for (auto& e : entries_) {
    if (!e->info.library.empty() && e->info.library == canonical) return e.get();
  }
  return nullptr;
}

Manager::Entry& Manager::add(Info info, Manifest manifest) {
  auto made = std::make_unique<Entry>();
  made->info = std::move(info);
  made->manifest = std::move(manifest);
  entries_.push_back(std::move(made));
  return *entries_.back();
}

template <class Wanted>
void Manager::open_where(Wanted wanted) {
  Lock lock(mutex_);
  scan();
  std::vector<Entry*> order;
  for (auto& e : entries_) {
    if (e->info.state == State::Found && !e->opening && wanted(e->info)) order.push_back(e.get());
  }
  // Highest first; a variant that the user prefers comes before the others of its kind, whatever
  // their priority.
  auto rank = [](Entry* e) {
    return std::pair(e->info.variant.empty() ? 0 : preference_rank(e->info.name),
                     -e->info.priority);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](Entry* a, Entry* b) { return rank(a) < rank(b); });
  for (Entry* e : order) {
    if (Entry* other = serving_variant(*e)) {
      e->info.state = State::Disabled;
      e->info.reason = core::join("variant ", e->info.variant, " of ", e->info.device,
                                  " is served by ", other->info.name, " (priority ",
                                  other->info.priority, " against ", e->info.priority,
                                  "); TENON_PLUGINS_PREFER=", e->info.name, " chooses this one");
    } else {
      open(*e);
    }
  }
}

Manager::Entry* Manager::serving_variant(const Entry& e) {
  if (e.info.variant.empty()) return nullptr;
  for (auto& other : entries_) {
    const Info& i = other->info;
    if (other.get() != &e && i.state == State::Opened && i.device == e.info.device &&
        i.variant == e.info.variant) {
      return other.get();
    }
  }
  return nullptr;
}

// A plugin with a device and layouts opens once both were requested. "any" is requested for an
// unknown op or dtype.
bool Manager::open_for_device(std::string_view device) {
  Lock lock(mutex_);
  requested_.emplace(device);
  open_where([&](const Info& i) {
    const bool used = std::any_of(i.layouts.begin(), i.layouts.end(),
                                  [&](auto& l) { return requested_.count(l) > 0; });
    return i.device == device && !waits_for_call(i) &&
           (i.layouts.empty() || device == "any" || used);
  });
  return is_settled(device);
}

bool Manager::is_settled(std::string_view device) const {
  return scanned_ && std::none_of(entries_.begin(), entries_.end(),
                                  [&](auto& e) { return e->retry && e->info.device == device; });
}

bool Manager::open_for_operator(std::string_view op, std::string_view device) {
  Lock lock(mutex_);
  open_where([&](const Info& i) {
    return i.device == device && waits_for_call(i) && contains(i.operators, op);
  });
  return is_settled(device);
}

void Manager::open_for_layout(std::string_view layout) {
  Lock lock(mutex_);
  requested_.emplace(layout);
  open_where([&](const Info& i) {
    return contains(i.layouts, layout) &&
           (i.device == "any" || i.device == "cpu" || requested_.count(i.device) > 0);
  });
  const int slot = core::layout_slot_from_name(layout);
  if (slot >= 0 && core::layout_ext(slot) != nullptr) return;
  // One of them may provide it.
  open_where([&](const Info& i) { return contains(i.layouts, layout); });
}

void Manager::open_all() {
  open_where([](const Info&) { return true; });
}

// "in A, B; FOUND": what the search ignored, the state of the plugins that satisfy `is_one`, or
// `otherwise` if none.
template <class Predicate>
std::string Manager::search_report(Predicate is_one, const std::string& otherwise) {
  std::string where, reasons;
  const auto add = [](std::string& list, const char* between, const std::string& item) {
    list += (list.empty() ? "" : between) + item;
  };
  for (const fs::path& f : path_.folders) add(where, ", ", f.string());
  for (const std::string& text : path_.ignored) add(reasons, "; ", text);
  for (const std::string& text : transient_) add(reasons, "; ", text);
  bool found = false;
  for (auto& e : entries_) {
    const Info& i = e->info;
    if (!is_one(i) || i.reason.empty()) continue;
    add(reasons, "; ", core::join(to_string(i.state), " ", i.name, ": ", i.reason));
    found = true;
  }
  if (!found) add(reasons, "; ", otherwise);
  return core::join("in ", where.empty() ? "no folder" : where, "; ", reasons);
}

std::string Manager::why_absent(std::string_view device) {
  Lock lock(mutex_);
  scan();
  return core::join(
      "its backend is not loaded: looked for libtenon_", device, ".so ",
      search_report(
          [&](const Info& i) { return i.device == device || i.name == device; },
          core::join("found no manifest. Put libtenon_", device, ".so and libtenon_", device,
                     ".json into one of them, or name their folder in TENON_ADD_PLUGIN_PATH")));
}

std::string Manager::why_no_layout(std::string_view layout) {
  Lock lock(mutex_);
  scan();
  return core::join(
      "looked for a plugin that does ",
      search_report(
          [&](const Info& i) { return contains(i.layouts, layout); },
          "no manifest there names it. Put the plugin's .so and .json into one of them, or name "
          "their folder in TENON_ADD_PLUGIN_PATH"));
}

// A manifest may name an operator or one of its overloads.
std::string Manager::why_no_operator(std::string_view op) {
  Lock lock(mutex_);
  scan();
  const std::string_view base = op.substr(0, op.find('.'));
  std::string out;
  for (auto& e : entries_) {
    const Info& i = e->info;
    if (!contains(i.operators, op) && !contains(i.operators, base)) continue;
    out +=
        core::join(out.empty() ? "" : "; ", "plugin '", i.name,
                   i.state == State::Opened ? "' names it in its manifest and did not register it"
                                            : "' would provide it",
                   " (", i.manifest);
    if (i.state != State::Opened) {
      out += core::join("; ", i.state == State::Found ? "not opened" : to_string(i.state), ": ",
                        i.reason.empty() ? when_it_opens(i) : i.reason);
    }
    out += ")";
  }
  return out;
}

std::vector<Info> Manager::list() {
  Lock lock(mutex_);
  scan();
  if (!transient_.empty())
    throw BackendError(core::join("the search for plugins is incomplete: ", transient_.front()));
  std::vector<Info> out;
  for (auto& e : entries_) out.push_back(e->info);
  return out;
}

std::vector<std::string> Manager::folders() {
  Lock lock(mutex_);
  scan();
  std::vector<std::string> out;
  for (const fs::path& f : path_.folders) out.push_back(f.string());
  return out;
}

}  // namespace tenon::plugins
