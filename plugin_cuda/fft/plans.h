// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cuFFT, opened by the first transform, and its plans, which are kept.
#pragma once

#include <cufft.h>

#include <array>
#include <mutex>

namespace tenon::cuda {

struct FftLibrary {
#define TENON_FFT_FUNCTION(f) decltype(&::f) f;
#include "plugin_cuda/fft/functions.def"
};

// Null if the library is not installed: the kernel declines then.
const FftLibrary* fft_library();

inline constexpr int kMaxFftRank = 3;

// A batch of transforms over the last `rank` dimensions of dense memory; sizes are those of the
// real or the whole complex signal.
struct FftShape {
  int index = 0;
  cufftType type = CUFFT_C2C;
  int rank = 0;
  std::array<int64_t, kMaxFftRank> sizes{};
  int64_t batch = 1;
  bool operator<(const FftShape& o) const;
};

// A plan for one thread at a time.
class FftPlan {
 public:
  explicit FftPlan(const FftShape& shape);
  cufftHandle handle() const { return handle_; }
  std::size_t workspace() const { return workspace_; }

 private:
  std::unique_lock<std::mutex> hold_;
  cufftHandle handle_ = 0;
  std::size_t workspace_ = 0;
};

void check_fft(cufftResult status, const char* call, int index);
#define FFT_CALL(index, f, ...) check_fft(fft_library()->f(__VA_ARGS__), #f, index)

void stop_fft();

}  // namespace tenon::cuda
