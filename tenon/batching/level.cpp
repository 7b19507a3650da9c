// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/batching/level.h"

#include <map>

#include "tenon/batching/call.h"
#include "tenon/core/batched_call.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::batching {
namespace {

__thread LevelScope* t_innermost __attribute__((tls_model("initial-exec")));

}  // namespace

LevelScope::LevelScope(int64_t size, Randomness randomness)
    : outer_(t_innermost), mode_(autograd::mode() | autograd::kBatching) {
  const int number = outer_ ? outer_->level_->number + 1 : 1;
  level_ = core::Ref<BatchLevel>::adopt(new BatchLevel(number, size, randomness));
  core::g_batched_call.store(&call_batched, std::memory_order_relaxed);
  t_innermost = this;
}

LevelScope::~LevelScope() {
  t_innermost = outer_;
  level_->alive.store(false, std::memory_order_relaxed);
}

BatchLevel* innermost() noexcept { return t_innermost ? t_innermost->level_.get() : nullptr; }

BelowScope::BelowScope(const BatchLevel& level) noexcept : before_(t_innermost) {
  while (t_innermost && t_innermost->level_->number >= level.number)
    t_innermost = t_innermost->outer_;
}
BelowScope::~BelowScope() { t_innermost = before_; }

Tensor make_batched(const Tensor& value, int64_t dim, BatchLevel& level) {
  core::TensorImpl& impl = *value.unsafeGetTensorImpl();
  TENON_CHECK(!impl.composite(), NotImplementedError, "vmap: a tensor of layout ",
              core::layout_name(impl.layout_slot), " has no slices; to_dense() it");
  return Tensor(core::TensorImpl::make_batched(value.getIntrusivePtr(), static_cast<int>(dim),
                                               core::Ref<BatchLevel>::share(&level)));
}

Tensor slices_of(const Tensor& batched) {
  const core::Batch& b = *batched.unsafeGetTensorImpl()->batch;
  const Tensor value(core::Impl::share(b.value));
  return b.dim == 0 ? value : value.movedim(b.dim, 0);
}

Tensor all_values_of(Tensor t) {
  while (is_batched(t)) t = slices_of(t);
  return t;
}

namespace {

void add_levels(const Tensor& t, std::map<int, BatchLevel*>& levels) {
  for (const core::TensorImpl* i = t.unsafeGetTensorImpl(); i && i->batched(); i = i->batch->value)
    levels[i->batch->level->number] = i->batch->level;
}

}  // namespace

Tensor writable_for(const Tensor& fresh, TensorList sources) {
  std::map<int, BatchLevel*> levels;
  for (const Tensor& t : sources) add_levels(t, levels);
  if (levels.empty() || is_batched(fresh)) return fresh;
  // Each slice has the strides of the tensor, which may have gaps.
  std::vector<int64_t> sizes = fresh.sizes().vec(), strides = fresh.strides().vec();
  auto step = static_cast<int64_t>(fresh.storage().nbytes() / fresh.itemsize());
  for (auto l = levels.rbegin(); l != levels.rend(); ++l) {
    sizes.insert(sizes.begin(), l->second->size);
    strides.insert(strides.begin(), step);
    step *= l->second->size;
  }
  Tensor out = empty_strided(sizes, strides, fresh.options());
  for (const auto& [number, level] : levels) out = make_batched(out, 0, *level);
  return out.copy_(fresh);
}

Tensor empty_to_draw(IntArrayRef size, const TensorOptions& options) {
  if (!t_innermost) return tenon::empty(size, options);
  std::vector<BatchLevel*> levels;  // innermost first
  std::vector<int64_t> sizes;       // outermost first
  for (LevelScope* s = t_innermost; s; s = s->outer_) {
    if (s->level_->random == Randomness::Different) levels.push_back(s->level_.get());
  }
  for (auto l = levels.rbegin(); l != levels.rend(); ++l) sizes.push_back((*l)->size);
  sizes.insert(sizes.end(), size.begin(), size.end());
  Tensor out = tenon::empty(sizes, options);
  for (auto l = levels.rbegin(); l != levels.rend(); ++l) out = make_batched(out, 0, **l);
  return out;
}

Tensor empty_like_to_draw(const Tensor& self, const TensorOptions& options,
                          std::optional<MemoryFormat> format) {
  const BatchLevel* level = innermost();
  if (!level || level->random != Randomness::Different || is_batched_at(self, *level))
    return tenon::empty_like(self, options, format);
  return empty_to_draw(self.sizes(), self.options().requires_grad(std::nullopt).merge_in(options));
}

}  // namespace tenon::batching
