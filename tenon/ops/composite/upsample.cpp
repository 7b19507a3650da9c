// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Resampling to a size, or by factors.
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using Factors = std::optional<ArrayRef<double>>;

// The spatial sizes of the result, and the factors as they were given.
struct Target {
  std::vector<int64_t> size;
  std::vector<std::optional<double>> scale;

  Target(const char* name, const Tensor& input, std::size_t nd, OptionalIntArrayRef wanted,
         const Factors& factors)
      : scale(nd) {
    TENON_CHECK(wanted.has_value() != factors.has_value(), ValueError, name,
                ": define exactly one of size and scale_factor");
    TENON_CHECK(input.dim() == static_cast<int64_t>(nd) + 2, ValueError, name, ": needs ", nd + 2,
                "-D input, got ", input.dim(), "-D");
    const std::size_t given = wanted ? wanted->size() : factors->size();
    TENON_CHECK(given == nd, ValueError, name, ": needs ", nd, " sizes or factors, got ", given);
    if (wanted) {
      size = wanted->vec();
      return;
    }
    for (std::size_t d = 0; d < nd; ++d) {
      const double f = (*factors)[d];
      TENON_CHECK(f > 0, ValueError, name, ": factors must be greater than 0, got ", f);
      scale[d] = f;
      const double scaled = static_cast<double>(input.size(static_cast<int64_t>(d) + 2)) * f;
      TENON_CHECK(scaled < 0x1p62, ValueError, name, ": a factor of ", f,
                  " makes too large a dimension");
      size.push_back(static_cast<int64_t>(scaled));
    }
  }
};

}  // namespace

#define TENON_LINE(name)                                                              \
  Tensor name##_vec(const Tensor& input, OptionalIntArrayRef size, Factors factors) { \
    const Target t(#name, input, 1, size, factors);                                   \
    return tenon::name(input, t.size, t.scale[0]);                                    \
  }
#define TENON_PLANE(name)                                                             \
  Tensor name##_vec(const Tensor& input, OptionalIntArrayRef size, Factors factors) { \
    const Target t(#name, input, 2, size, factors);                                   \
    return tenon::name(input, t.size, t.scale[0], t.scale[1]);                        \
  }
#define TENON_VOLUME(name)                                                            \
  Tensor name##_vec(const Tensor& input, OptionalIntArrayRef size, Factors factors) { \
    const Target t(#name, input, 3, size, factors);                                   \
    return tenon::name(input, t.size, t.scale[0], t.scale[1], t.scale[2]);            \
  }
#define TENON_ALIGNED_PLANE(name)                                                      \
  Tensor name##_vec(const Tensor& input, OptionalIntArrayRef size, bool align_corners, \
                    Factors factors) {                                                 \
    const Target t(#name, input, 2, size, factors);                                    \
    return tenon::name(input, t.size, align_corners, t.scale[0], t.scale[1]);          \
  }

TENON_LINE(upsample_nearest1d)
TENON_PLANE(upsample_nearest2d)
TENON_VOLUME(upsample_nearest3d)
TENON_LINE(_upsample_nearest_exact1d)
TENON_PLANE(_upsample_nearest_exact2d)
TENON_VOLUME(_upsample_nearest_exact3d)
TENON_ALIGNED_PLANE(upsample_bilinear2d)
TENON_ALIGNED_PLANE(upsample_bicubic2d)
TENON_ALIGNED_PLANE(_upsample_bilinear2d_aa)
TENON_ALIGNED_PLANE(_upsample_bicubic2d_aa)
#undef TENON_LINE
#undef TENON_PLANE
#undef TENON_VOLUME
#undef TENON_ALIGNED_PLANE

Tensor upsample_linear1d_vec(const Tensor& input, OptionalIntArrayRef size, bool align_corners,
                             Factors factors) {
  const Target t("upsample_linear1d", input, 1, size, factors);
  return tenon::upsample_linear1d(input, t.size, align_corners, t.scale[0]);
}
Tensor upsample_trilinear3d_vec(const Tensor& input, OptionalIntArrayRef size, bool align_corners,
                                Factors factors) {
  const Target t("upsample_trilinear3d", input, 3, size, factors);
  return tenon::upsample_trilinear3d(input, t.size, align_corners, t.scale[0], t.scale[1],
                                     t.scale[2]);
}

}  // namespace tenon::composite
