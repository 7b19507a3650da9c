// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Generators and the text form of options.
#include "tenon/types.h"

#include <cstring>
#include <random>

#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/ops.h"

namespace tenon {

uint64_t Generator::seed() {
  std::random_device entropy;
  uint64_t s = uint64_t{entropy()} << 32 | entropy();
  impl_->set_seed(s);
  return s;
}

Tensor Generator::get_state() const {
  Tensor t = empty({16}, TensorOptions(kUInt8));
  uint64_t words[2] = {impl_->seed(), impl_->offset()};
  std::memcpy(t.data_ptr(), words, sizeof words);
  return t;
}

void Generator::set_state(const Tensor& state) {
  TENON_CHECK(state.defined() && state.scalar_type() == kUInt8 && state.numel() == 16 && state.is_contiguous(),
              ValueError, "set_state: expected the 16 bytes that get_state returned");
  uint64_t words[2];
  std::memcpy(words, state.data_ptr(), sizeof words);
  impl_->set_seed(words[0]);
  impl_->set_offset(words[1]);
}

Generator Generator::clone() const {
  Generator g = make_generator(device(), impl_->seed());
  g.impl_->set_offset(impl_->offset());
  return g;
}

Generator make_generator(Device device, uint64_t seed) {
  return Generator(core::Ref<core::GeneratorImpl>::adopt(new core::GeneratorImpl(core::resolve(device), seed)));
}

Generator default_generator(Device device) {
  return Generator(core::Ref<core::GeneratorImpl>::share(&core::default_generator(core::resolve(device))));
}

void manual_seed(uint64_t seed) { core::manual_seed(seed); }

namespace {
// c10's number of it is 1, so it takes the first place.
[[maybe_unused]] const int kSparseSlot = core::reserve_layout("sparse_coo");
}  // namespace

Layout layout_from_name(std::string_view name) { return static_cast<Layout>(core::usable_layout(name)); }
std::string_view toString(Layout l) { return core::layout_name(static_cast<int>(l)); }

std::string toString(const TensorOptions& o) {
  return core::join("TensorOptions(dtype=", toString(o.dtype()), ", device=", o.device().str(),
                    ", layout=", o.layout() == kStrided ? "Strided" : toString(o.layout()),
                    ", requires_grad=", o.requires_grad(), ", pinned_memory=", o.pinned_memory(), ")");
}

}  // namespace tenon
