// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers: every element is read and written once, and threads share out the elements
// of all tensors together. 16-bit floats are computed in float and rounded once.
#include "plugin_cpu/rowwise/optimizer.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "plugin_cpu/memory/floats.h"
#include "tenon/sdk/ops/_adam_step_.h"
#include "tenon/sdk/ops/_adamw_step_.h"
#include "tenon/sdk/ops/_fused_sgd_.h"

namespace {

using namespace tenon::sdk;
using namespace tenon::cpu;

constexpr int64_t kGrain = 16384;
constexpr int64_t kPiece = 1024;  // elements of a 16-bit run that are converted at a time

// step(pointers, n) over n elements of each run, as what T is computed in.
template <class T, class Step>
void in_pieces(T* const (&runs)[5], int64_t n, Step&& step) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    step(runs, n);
  } else {
    float buffer[5][kPiece];
    for (int64_t i = 0; i < n; i += kPiece) {
      const int64_t m = std::min(kPiece, n - i);
      float* wide[5] = {};
      for (int k = 0; k < 5; ++k) {
        if (runs[k] == nullptr) continue;
        wide[k] = buffer[k];
        for (int64_t j = 0; j < m; ++j) buffer[k][j] = static_cast<float>(runs[k][i + j]);
      }
      step(wide, m);
      for (int k = 0; k < 5; ++k) {
        if (runs[k] == nullptr || k == kGrad) continue;
        for (int64_t j = 0; j < m; ++j) runs[k][i + j] = T(buffer[k][j]);
      }
    }
  }
}

// step(pointers, n, k) over parts of the tensors at position k of the lists; an empty list has null
// pointers.
template <class Step>
void each_part(const TensorList (&lists)[5], Step&& step) {
  const int64_t count = lists[kParam].size();
  std::vector<int64_t> starts(static_cast<std::size_t>(count) + 1, 0);
  for (int64_t k = 0; k < count; ++k) {
    starts[static_cast<std::size_t>(k) + 1] =
        starts[static_cast<std::size_t>(k)] + lists[kParam][k].numel();
  }
  dispatch_floating(lists[kParam][0].dtype(), [&](auto tag) {
    using T = tn_type(tag);
    parallel_for(starts.back(), kGrain, [&](int64_t begin, int64_t end) {
      int64_t k = std::upper_bound(starts.begin(), starts.end(), begin) - starts.begin() - 1;
      for (; begin < end; ++k) {
        const int64_t start = starts[static_cast<std::size_t>(k)];
        const int64_t n = std::min(end, starts[static_cast<std::size_t>(k) + 1]) - begin;
        T* runs[5] = {};
        for (int i = 0; i < 5; ++i) {
          if (lists[i].size() != 0) runs[i] = lists[i][k].data<T>() + (begin - start);
        }
        in_pieces<T>(runs, n, [&](auto* const(&places)[5], int64_t m) { step(places, m, k); });
        begin += n;
      }
    });
  });
}

// The steps of each tensor, this one included: those given, or tensors that count them.
std::vector<int64_t> counted(TensorList counts, Ints steps) {
  std::vector<int64_t> out(steps.begin(), steps.end());
  for (int64_t k = 0; k < counts.size(); ++k) out.push_back(++*counts[k].data<int64_t>());
  return out;
}

tn_status adam(const TensorList (&lists)[5], const std::vector<int64_t>& steps, double lr,
               const AdamNumbers& numbers) {
  each_part(lists, [&](auto* const(&places)[5], int64_t n, int64_t k) {
    AdamNumbers o = numbers;
    const double count = static_cast<double>(steps[static_cast<std::size_t>(k)]);
    o.root = std::sqrt(1 - std::pow(o.beta2, count));
    o.size = -lr / (1 - std::pow(o.beta1, count));
    adam_step(places, n, o);
  });
  return TN_OK;
}

tn_status fused_adam(Call&, TensorList self, TensorList grads, TensorList means, TensorList squares,
                     TensorList maxima, TensorList counts, Ints steps, double lr, double beta1,
                     double beta2, double weight_decay, double eps, bool, bool maximize) {
  return adam({self, grads, means, squares, maxima}, counted(counts, steps), lr,
              {beta1, beta2, eps, weight_decay, 1, maximize});
}

tn_status fused_adamw(Call&, TensorList self, TensorList grads, TensorList means,
                      TensorList squares, TensorList maxima, TensorList counts, Ints steps,
                      double lr, double beta1, double beta2, double weight_decay, double eps, bool,
                      bool maximize) {
  const double shrink = weight_decay == 0 ? 1 : 1 - lr * weight_decay;
  return adam({self, grads, means, squares, maxima}, counted(counts, steps), lr,
              {beta1, beta2, eps, 0, shrink, maximize});
}

tn_status fused_sgd(Call&, TensorList self, TensorList grads, TensorList buffers,
                    double weight_decay, double momentum, double lr, double dampening,
                    bool nesterov, bool maximize, bool first) {
  const SgdNumbers o{lr, momentum, dampening, weight_decay, nesterov, maximize, first};
  each_part({self, grads, buffers, {}, {}},
            [&](auto* const(&places)[5], int64_t n, int64_t) { sgd_step(places, n, o); });
  return TN_OK;
}

}  // namespace

TN_KERNEL(_fused_sgd_, fused_sgd, dtypes("floating"));
TN_KERNEL(_adam_step_, fused_adam, dtypes("floating"));
TN_KERNEL(_adamw_step_, fused_adamw, dtypes("floating"));
