// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/extension.h"

#include <algorithm>
#include <mutex>

#include "runtime/base/leaf_mutex.h"

namespace tenon::core {
namespace {

struct Open {
  LeafMutex lock;
  std::vector<const tn_plugin*> plugins;
};

Open& open() {
  static Open* o = new Open();
  return *o;
}

}  // namespace

std::vector<OpenExtension> open_extensions(uint32_t id) {
  std::vector<OpenExtension> out;
  std::lock_guard held(open().lock);
  for (const tn_plugin* p : open().plugins) {
    for (const tn_ext* e = p->ext; e != nullptr; e = e->next) {
      if (e->id == id) out.push_back({std::string(p->name.ptr, p->name.len), e});
    }
  }
  return out;
}

void publish_extensions(const tn_plugin& plugin) {
  std::lock_guard held(open().lock);
  open().plugins.push_back(&plugin);
}

void withdraw_extensions(const tn_plugin& plugin) noexcept {
  std::lock_guard held(open().lock);
  auto& all = open().plugins;
  all.erase(std::remove(all.begin(), all.end(), &plugin), all.end());
}

}  // namespace tenon::core
