// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cuda/fft/plans.h"

#include <dlfcn.h>

#include <map>
#include <tuple>

#include "plugin_cuda/runtime/runtime.h"

namespace tenon::cuda {
namespace {

// A plan holds tables on the device; once there are as many, they are rebuilt.
constexpr std::size_t kMaxPlans = 256;

struct Made {
  cufftHandle handle;
  std::size_t workspace;
};
struct Plans {
  std::mutex lock;
  std::map<FftShape, Made> made;
};
Plans& plans() {
  static auto& p = *new Plans;
  return p;
}

const FftLibrary* open_library() {
  void* library = dlopen(sdk::join("libcufft.so.", CUFFT_VER_MAJOR).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  static FftLibrary found;
  bool all = true;
#define TENON_FFT_FUNCTION(f)                                     \
  found.f = reinterpret_cast<decltype(&::f)>(dlsym(library, #f)); \
  all = all && found.f != nullptr;
#include "plugin_cuda/fft/functions.def"
  return all ? &found : nullptr;
}

void destroy_all(Plans& p) {
  for (const auto& [shape, made] : p.made) fft_library()->cufftDestroy(made.handle);
  p.made.clear();
}

// Destroyed unless it is kept.
struct NewPlan {
  cufftHandle handle = 0;
  bool kept = false;
  explicit NewPlan(int index) { FFT_CALL(index, cufftCreate, &handle); }
  ~NewPlan() {
    if (!kept) fft_library()->cufftDestroy(handle);
  }
  NewPlan(const NewPlan&) = delete;
};

Made make_plan(const FftShape& s) {
  const UncapturedGuard uncaptured;
  NewPlan plan(s.index);
  FFT_CALL(s.index, cufftSetAutoAllocation, plan.handle, 0);  // core supplies the workspace
  long long sizes[kMaxFftRank];
  for (int i = 0; i < s.rank; ++i) sizes[i] = s.sizes[static_cast<std::size_t>(i)];
  std::size_t bytes = 0;
  FFT_CALL(s.index, cufftMakePlanMany64, plan.handle, s.rank, sizes, nullptr, 1, 0, nullptr, 1, 0,
           s.type, s.batch, &bytes);
  plan.kept = true;
  return {plan.handle, bytes};
}

}  // namespace

bool FftShape::operator<(const FftShape& o) const {
  return std::tie(index, type, rank, sizes, batch) <
         std::tie(o.index, o.type, o.rank, o.sizes, o.batch);
}

const FftLibrary* fft_library() {
  static const FftLibrary* const library = open_library();
  return library;
}

FftPlan::FftPlan(const FftShape& shape) : hold_(plans().lock) {
  Plans& p = plans();
  auto at = p.made.find(shape);
  if (at == p.made.end()) {
    if (p.made.size() >= kMaxPlans) destroy_all(p);
    at = p.made.emplace(shape, make_plan(shape)).first;
  }
  handle_ = at->second.handle;
  workspace_ = at->second.workspace;
}

void check_fft(cufftResult status, const char* call, int index) {
  if (status == CUFFT_SUCCESS) return;
  check(cudaPeekAtLastError(), call, index);  // a device error is more specific
  throw sdk::Error(status == CUFFT_ALLOC_FAILED ? TN_ERROR_MEMORY : TN_ERROR_BACKEND, call,
                   " failed: result ", static_cast<int>(status), " of cuFFT");
}

void stop_fft() {
  if (!forked() && !plans().made.empty()) destroy_all(plans());
  plans().made.clear();
}

}  // namespace tenon::cuda
