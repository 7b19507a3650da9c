// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Generators and the text form of options.
#include "tenon/types.h"

#include <cstring>
#include <random>

#include "tenon/core/layout.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon {

uint64_t Generator::seed() {
  std::random_device entropy;
  uint64_t s = uint64_t{entropy()} << 32 | entropy();
  impl("seed").set_seed(s);
  return s;
}

Tensor Generator::get_state() const {
  Tensor t = empty({16}, TensorOptions(kUInt8));
  const core::GeneratorImpl& own = impl("get_state");
  uint64_t words[2] = {own.seed(), own.offset()};
  std::memcpy(t.data_ptr(), words, sizeof words);
  return t;
}

void Generator::set_state(const Tensor& state) {
  TENON_CHECK(state.defined() && state.scalar_type() == kUInt8 && state.numel() == 16 &&
                  state.is_contiguous(),
              ValueError, "set_state: expected the 16 bytes that get_state returned");
  core::GeneratorImpl& own = impl("set_state");
  uint64_t words[2];
  std::memcpy(words, state.data_ptr(), sizeof words);
  own.set_seed(words[0]);
  own.set_offset(words[1]);
}

Generator Generator::clone() const {
  const core::GeneratorImpl& own = impl("clone");
  Generator g = make_generator(own.device(), own.seed());
  g.impl_->set_offset(own.offset());
  return g;
}

Generator make_generator(Device device, uint64_t seed) {
  return Generator(
      core::Ref<core::GeneratorImpl>::adopt(new core::GeneratorImpl(core::resolve(device), seed)));
}

Generator default_generator(Device device) {
  return Generator(
      core::Ref<core::GeneratorImpl>::share(&core::default_generator(core::resolve(device))));
}

void manual_seed(uint64_t seed) { core::manual_seed(seed); }

ForkRng::ForkRng(const std::vector<Device>& devices) {
  const auto save = [this](const Device& d) {
    const Generator g = tenon::default_generator(d);
    states_.push_back({g, g.current_seed(), g.get_offset()});
  };
  states_.reserve(devices.size() + 1);
  save(Device(kCPU));
  for (const Device& d : devices) save(d);
}

ForkRng::~ForkRng() {
  for (State& s : states_) {
    s.generator.set_current_seed(s.seed);
    s.generator.set_offset(s.offset);
  }
}

namespace {
// c10's index of it is 1, so it takes the first slot.
[[maybe_unused]] const int kSparseSlot = core::reserve_layout("sparse_coo");
}  // namespace

Layout layout_from_name(std::string_view name) {
  return static_cast<Layout>(core::usable_layout(name));
}
std::string_view toString(Layout l) { return core::layout_name(static_cast<int>(l)); }

namespace {

std::string_view first_word(int layout) {
  const std::string_view name = core::layout_name(layout);
  return name.substr(0, name.find('_'));
}

std::optional<Layout> layout_from_word(std::string_view word) {
  for (int slot = 1; slot < core::layout_slots(); ++slot) {
    if (first_word(slot) == word) return static_cast<Layout>(slot);
  }
  return std::nullopt;
}

std::optional<ScalarType> dtype_from_word(std::string_view word) {
  for (int id = 0; id < core::kMaxDtypes; ++id) {
    const auto t = static_cast<ScalarType>(id);
    if (core::item_size(t) != 0 && toString(t) == word) return t;
  }
  return std::nullopt;
}

bool consume_prefix(std::string_view& text, std::string_view front) {
  if (text.substr(0, front.size()) != front) return false;
  text.remove_prefix(front.size());
  return true;
}

}  // namespace

std::string type_string(const TensorOptions& o) {
  const core::DeviceSlot slot = core::device_slot(o.device().type());
  const std::string device = core::is_host_slot(slot) ? "" : core::device_entry(slot).name + ".";
  const std::string layout =
      o.layout() == kStrided ? "" : std::string(first_word(static_cast<int>(o.layout()))) + ".";
  return core::join("tenon.", device, layout, toString(o.dtype()), "Tensor");
}

TensorOptions options_from_type(std::string_view type) {
  const auto invalid = [&] {
    throw ValueError(core::join("invalid type '", type,
                                "': expected tenon.[DEVICE.][LAYOUT.]DTYPETensor, such as ",
                                "tenon.FloatTensor or tenon.cuda.sparse.DoubleTensor"));
  };
  std::string_view rest = type;
  constexpr std::string_view kEnd = "Tensor";
  if (!consume_prefix(rest, "tenon.") || rest.size() < kEnd.size() ||
      rest.substr(rest.size() - kEnd.size()) != kEnd)
    invalid();
  rest.remove_suffix(kEnd.size());
  const std::size_t dot = rest.rfind('.') == rest.npos ? 0 : rest.rfind('.') + 1;
  const auto dtype = dtype_from_word(rest.substr(dot));
  if (!dtype) invalid();
  TensorOptions o = TensorOptions(*dtype).layout(kStrided).device(Device(kCPU));
  if (dot == 0) return o;
  rest = rest.substr(0, dot - 1);
  const std::size_t last = rest.rfind('.') == rest.npos ? 0 : rest.rfind('.') + 1;
  if (const auto layout = layout_from_word(rest.substr(last))) {
    o = o.layout(*layout);
    if (last == 0) return o;
    rest = rest.substr(0, last - 1);
  }
  if (rest.empty() || rest.find('.') != rest.npos || rest.find(':') != rest.npos) invalid();
  return o.device(Device(rest));
}

void set_default_tensor_type(std::string_view type) {
  const TensorOptions o = options_from_type(type);
  TENON_CHECK(o.layout() == kStrided && o.device().is_cpu(), TypeError,
              "the default tensor type must be of strided tensors on cpu, got ", type);
  set_default_dtype(o.dtype());
}

std::string toString(const TensorOptions& o) {
  return core::join("TensorOptions(dtype=", toString(o.dtype()), ", device=", o.device().str(),
                    ", layout=", o.layout() == kStrided ? "Strided" : toString(o.layout()),
                    ", requires_grad=", o.requires_grad(), ", pinned_memory=", o.pinned_memory(),
                    ")");
}

}  // namespace tenon
