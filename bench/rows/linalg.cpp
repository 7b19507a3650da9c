// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Linear algebra, Fourier transforms, and one call for a list of tensors.
#include "bench/rows/rows.h"

namespace {

constexpr int64_t N = 1024;

// Far from singular.
Tensor invertible(torch::IntArrayRef size) {
  return torch::rand(size) + 8 * torch::eye(size.back());
}

Tensor symmetric(int64_t n) {
  auto a = torch::rand({n, n});
  return a + a.t();
}

}  // namespace

void linalg_rows(Suite& s) {
  auto row = [&](std::string const& name, auto make, char const* note = "") {
    s.row("linalg", name, make, note);
  };
  row(
      "solve_8x8",
      [] {
        return [a = invertible({N, 8, 8}), b = torch::rand({N, 8, 1})] {
          keep(at::linalg_solve(a, b));
        };
      },
      "1024 systems");
  row("solve_1024", [] {
    return [a = invertible({N, N}), b = torch::rand({N, 1})] { keep(at::linalg_solve(a, b)); };
  });
  row("eigh_1024", [] { return [a = symmetric(N)] { keep(at::linalg_eigh(a)); }; });
  row("svd_1024", [] { return [a = torch::rand({N, N})] { keep(at::linalg_svd(a)); }; });
  row("fft_1M",
      [] { return [a = torch::randn({M}, torch::kComplexFloat)] { keep(at::fft_fft(a)); }; });
  row("fft_1024x1024", [] {
    return [a = torch::randn({N, N}, torch::kComplexFloat)] { keep(at::fft_fft(a)); };
  });
  row("rfft_1M", [] { return [a = torch::randn({M})] { keep(at::fft_rfft(a)); }; });
  row(
      "foreach_add_100",
      [] {
        std::vector<Tensor> to, from;
        for (int i = 0; i < 100; ++i) {
          to.push_back(torch::rand({64, 64}));
          from.push_back(torch::rand({64, 64}));
        }
        return [=] { at::_foreach_add_(to, from, 1e-3); };
      },
      "100 tensors of 64 x 64");
}
