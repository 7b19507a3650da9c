// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/compat/backend.h"

#include <iterator>

#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace {

struct Row {
  const char* name;
  DeviceType device;
  bool sparse;
};
// By the enumeration.
constexpr Row kRows[] = {
    {"CPU", DeviceType::CPU, false},
    {"CUDA", DeviceType::CUDA, false},
    {"XPU", DeviceType::XPU, false},
    {"MPS", DeviceType::MPS, false},
    {"Meta", DeviceType::Meta, false},
    {"PrivateUse1", DeviceType::PrivateUse1, false},
    {"SparseCPU", DeviceType::CPU, true},
    {"SparseCUDA", DeviceType::CUDA, true},
    {"SparseXPU", DeviceType::XPU, true},
    {"SparseMPS", DeviceType::MPS, true},
    {"SparsePrivateUse1", DeviceType::PrivateUse1, true},
};
static_assert(std::size(kRows) == static_cast<std::size_t>(Backend::Undefined));

const Row& row_of(Backend b) {
  const auto at = static_cast<std::size_t>(b);
  TENON_CHECK(at < std::size(kRows), ValueError, "argument 'backend' must be defined");
  return kRows[at];
}

}  // namespace

DeviceType backendToDeviceType(Backend b) { return row_of(b).device; }
Layout layout_from_backend(Backend b) { return row_of(b).sparse ? kSparse : kStrided; }
const char* toString(Backend b) {
  return b == Backend::Undefined ? "UNKNOWN_BACKEND" : row_of(b).name;
}

Tensor Tensor::toBackend(Backend b) const {
  const Layout wanted = layout_from_backend(b);
  const Tensor moved = to(Device(backendToDeviceType(b)));
  if (moved.layout() == wanted) return moved;
  return wanted == kSparse ? moved.to_sparse() : moved.to_dense();
}

}  // namespace tenon
