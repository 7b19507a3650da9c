// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of torchvision, and those that archives name in branches that few programs take.
#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/jit/operator.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

template <class T>
struct Box {
  T x1, y1, x2, y2;
  T area() const { return (x2 - x1) * (y2 - y1); }
};

template <class T>
T intersection(const Box<T>& a, const Box<T>& b) {
  const T width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const T height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  return std::max(width, T{0}) * std::max(height, T{0});
}

// Which boxes are kept, best score first; one that overlaps a better one by more than the threshold
// (intersection over union) goes.
template <class T>
std::vector<int64_t> kept_boxes(const Tensor& dets, const Tensor& values, double threshold) {
  const ScalarType dtype = std::is_same_v<T, double> ? kDouble : kFloat32;
  const Tensor b = dets.to(kCPU).to(dtype).contiguous(), v = values.to(kCPU).to(dtype).contiguous();
  const auto* boxes = reinterpret_cast<const Box<T>*>(b.data_ptr<T>());
  const T* scores = v.data_ptr<T>();
  std::vector<int64_t> order(static_cast<std::size_t>(b.size(0))), kept;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return scores[i] > scores[j]; });
  std::vector<bool> dropped(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int64_t best = order[i];
    if (dropped[static_cast<std::size_t>(best)]) continue;
    kept.push_back(best);
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      const int64_t other = order[j];
      const T shared = intersection(boxes[best], boxes[other]);
      const T all = boxes[best].area() + boxes[other].area() - shared;
      if (shared / all > threshold) dropped[static_cast<std::size_t>(other)] = true;
    }
  }
  return kept;
}

// nms(dets [n, 4], scores [n], iou_threshold) -> indices, computed on the host in the dtype of the
// boxes: scores that differ in float64 alone have an order, too.
void nms(Stack& s) {
  const double threshold = pop_as<double>(s);
  const Tensor scores = pop(s).toTensor(), boxes = pop(s).toTensor();
  TENON_CHECK(boxes.dim() == 2 && boxes.size(1) == 4, ValueError,
              "nms: boxes should be of shape [n, 4], got ", boxes.sizes());
  TENON_CHECK(scores.dim() == 1 && scores.size(0) == boxes.size(0), ValueError,
              "nms: scores should be of shape [", boxes.size(0), "], got ", scores.sizes());
  const NoGradGuard values_only;
  const bool wide = boxes.scalar_type() == kDouble || scores.scalar_type() == kDouble;
  const std::vector<int64_t> kept = wide ? kept_boxes<double>(boxes, scores, threshold)
                                         : kept_boxes<float>(boxes, scores, threshold);
  s.emplace_back(tenon::tensor(kept, TensorOptions().dtype(kInt64)).to(boxes.device()));
}

// The code of an archive may name them in branches that it does not take.
[[noreturn]] void missing(const char* name) {
  throw NotImplementedError(core::join(name, ": this operator is not implemented"));
}
#define MISSING(name, schema)                                 \
  {                                                           \
    name schema, [](Stack&) { missing(name); }, nullptr, true \
  }

const HostOperator list[] = {
    {"torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", nms},
    MISSING("aten::_upsample_lanczos2d_aa",
            "(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float? "
            "scales_w=None) -> Tensor"),
    MISSING("aten::_upsample_lanczos2d_aa",
            ".vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) "
            "-> Tensor"),
    MISSING("torchvision::box_iou_rotated", "(Tensor boxes1, Tensor boxes2) -> Tensor"),
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
