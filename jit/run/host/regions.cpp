// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Regions of images pooled to one size, as torchvision does it: every bin of a region is a weighted
// sum, or the maximum, of pixels. The pixels and weights of all bins are found on the host; an
// embedding_bag whose rows are the pixels computes the bins, and its gradient is that of the input.
// Regions have no gradient, as there.
#include <algorithm>
#include <cmath>

#include "jit/run/unboxed.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

// The size of images and of the bins of a region.
struct Grid {
  int64_t batch, height, width, rows, columns;
};

template <class T>
struct Line {  // along one dimension: which pixels count how much
  std::vector<int64_t> at;
  std::vector<T> weight;
  void add(int64_t i, T w) {
    for (std::size_t k = at.size(); k-- > 0;) {
      if (at[k] == i) return void(weight[k] += w);
      if (at[k] < i) break;
    }
    at.push_back(i), weight.push_back(w);
  }
};

// Samples of a bin that begins at `start`, interpolated between the pixels of a line of `n`.
template <class T>
Line<T> sample_line(T start, T bin, int64_t samples, int64_t n) {
  Line<T> out;
  for (int64_t i = 0; i < samples; ++i) {
    T x = start + (static_cast<T>(i) + T(.5)) * bin / static_cast<T>(samples);
    if (!(x >= -1 && x <= static_cast<T>(n))) continue;  // nothing is outside, NaN neither
    x = std::max(x, T(0));
    const int64_t low = std::min(static_cast<int64_t>(x), n - 1);
    const T far = low == n - 1 ? T(0) : x - static_cast<T>(low);
    out.add(low, 1 - far);
    if (far > 0) out.add(low + 1, far);
  }
  return out;
}

// Where each bin begins in a list of pixels with weights.
template <class T>
struct Bags {
  std::vector<int64_t> pixels, begins;
  std::vector<T> weights;
};

// How torchvision sees a region (image, x1, y1, x2, y2) of a scaled image.
template <class T>
struct Region {
  int64_t image;
  T x, y, width, height;
  Region(const T* r, T scale, bool aligned, const Grid& g, const char* op)
      : image(static_cast<int64_t>(r[0])) {
    TENON_CHECK(r[0] >= 0 && image < g.batch, IndexError, op, ": a region is of image ", r[0],
                ", but there are ", g.batch);
    const T offset = aligned ? T(.5) : T(0);
    x = r[1] * scale - offset, y = r[2] * scale - offset;
    width = r[3] * scale - offset - x, height = r[4] * scale - offset - y;
  }
};

// More samples than pixels of an image in each direction tell nothing; a region that asks for them
// is a mistake, or an attack.
int64_t count_samples(double bin, int64_t asked, const char* op) {
  if (asked > 0) return asked;
  constexpr double kMax = 1 << 16;
  const double n = std::ceil(bin);
  TENON_CHECK(n <= kMax, ValueError, op, ": a bin of a region is ", bin, " pixels long; at most ",
              kMax, " are possible");
  return std::max<int64_t>(static_cast<int64_t>(n), 0);
}

// The plane of pixels that a bin looks at: its image, and for position sensitive pooling the bin's
// own part of the channels.
int64_t first_pixel(const Grid& g, int64_t image, int64_t row, int64_t column, bool by_position) {
  const int64_t plane = by_position ? (image * g.rows + row) * g.columns + column : image;
  return plane * g.height * g.width;
}

template <class T>
struct Pooling {  // arguments of an operator
  const char* op;
  T scale;
  int64_t samples;
  bool aligned, by_position;
};

template <class T>
void align_bins(const Region<T>& r, const Grid& g, const Pooling<T>& p, Bags<T>& out) {
  const T bin_y = r.height / static_cast<T>(g.rows), bin_x = r.width / static_cast<T>(g.columns);
  const int64_t ny = count_samples(bin_y, p.samples, p.op),
                nx = count_samples(bin_x, p.samples, p.op);
  const T share = T(1) / static_cast<T>(std::max<int64_t>(ny * nx, 1));
  std::vector<Line<T>> columns;
  for (int64_t j = 0; j < g.columns; ++j)
    columns.push_back(sample_line(r.x + static_cast<T>(j) * bin_x, bin_x, nx, g.width));
  for (int64_t i = 0; i < g.rows; ++i) {
    const Line<T> row = sample_line(r.y + static_cast<T>(i) * bin_y, bin_y, ny, g.height);
    for (int64_t j = 0; j < g.columns; ++j) {
      const int64_t first = first_pixel(g, r.image, i, j, p.by_position);
      const Line<T>& column = columns[static_cast<std::size_t>(j)];
      out.begins.push_back(static_cast<int64_t>(out.pixels.size()));
      for (std::size_t a = 0; a < row.at.size(); ++a) {
        for (std::size_t b = 0; b < column.at.size(); ++b) {
          out.pixels.push_back(first + row.at[a] * g.width + column.at[b]);
          out.weights.push_back(row.weight[a] * column.weight[b] * share);
        }
      }
    }
  }
}

// Bins of whole pixels; with weights their mean is taken, without the maximum.
template <class T>
void pool_bins(const Region<T>& r, const Grid& g, bool by_position, Bags<T>& out) {
  const T bin_y = r.height / static_cast<T>(g.rows), bin_x = r.width / static_cast<T>(g.columns);
  // Position sensitive pooling leaves the last line of pixels out, as torchvision does.
  const int64_t rest = by_position ? 1 : 0;
  const auto edge = [rest](T at, T start, int64_t n) {
    return std::clamp<int64_t>(static_cast<int64_t>(at + start), 0, n - rest);
  };
  for (int64_t i = 0; i < g.rows; ++i) {
    const int64_t y1 = edge(std::floor(static_cast<T>(i) * bin_y), r.y, g.height),
                  y2 = edge(std::ceil(static_cast<T>(i + 1) * bin_y), r.y, g.height);
    for (int64_t j = 0; j < g.columns; ++j) {
      const int64_t x1 = edge(std::floor(static_cast<T>(j) * bin_x), r.x, g.width),
                    x2 = edge(std::ceil(static_cast<T>(j + 1) * bin_x), r.x, g.width);
      const int64_t first = first_pixel(g, r.image, i, j, by_position);
      out.begins.push_back(static_cast<int64_t>(out.pixels.size()));
      if (y2 <= y1 || x2 <= x1) continue;
      const T share = T(1) / static_cast<T>((y2 - y1) * (x2 - x1));
      for (int64_t y = y1; y < y2; ++y) {
        for (int64_t x = x1; x < x2; ++x) {
          out.pixels.push_back(first + y * g.width + x);
          if (by_position) out.weights.push_back(share);
        }
      }
    }
  }
}

template <class T>
Tensor tensor_of(const std::vector<T>& v, const Device& device) {
  return tenon::tensor(v, TensorOptions(CppTypeToScalarType<T>::value)).to(device);
}

struct Pooled {
  Tensor values, places;  // [bins, channels]; places for the maximum
};

template <class T>
Pooled pool(const Tensor& pixels, const Bags<T>& bags, bool maximum) {
  const Tensor where = tensor_of(bags.pixels, pixels.device()),
               begins = tensor_of(bags.begins, pixels.device());
  if (maximum) {
    auto [values, bag, sizes, places] = tenon::embedding_bag(pixels, where, begins, false, 2);
    return {values, places.masked_fill(sizes.eq(0).unsqueeze(1), -1)};
  }
  const Tensor weights = tensor_of(bags.weights, pixels.device()).to(pixels.scalar_type());
  return {std::get<0>(tenon::embedding_bag(pixels, where, begins, false, 0, false, weights)),
          Tensor()};
}

// Calls each(region, bags) for the regions [n, 5] and pools what that found, a part at a time:
// lists of pixels are many times larger than the regions.
template <class T, class Each>
Pooled pool_regions(const Tensor& pixels, const Tensor& rois, bool maximum, const Each& each) {
  constexpr std::size_t kPart = 1 << 22;
  const Tensor host = rois.detach().to(kCPU).to(CppTypeToScalarType<T>::value).contiguous();
  const T* r = host.data_ptr<T>();
  std::vector<Tensor> values, places;
  Bags<T> bags;
  const auto flush = [&] {
    const Pooled part = pool(pixels, bags, maximum);
    values.push_back(part.values);
    if (maximum) places.push_back(part.places);
    bags = {};
  };
  for (int64_t k = 0; k < host.size(0); ++k) {
    each(r + k * 5, bags);
    if (bags.pixels.size() > kPart) flush();
  }
  if (!bags.begins.empty() || values.empty()) flush();
  return {tenon::cat(values), maximum ? tenon::cat(places) : Tensor()};
}

void check(const char* op, const Tensor& input, const Tensor& rois, int64_t rows, int64_t columns) {
  TENON_CHECK(input.dim() == 4, ValueError, op,
              ": expected an input [batch, channels, height, width], got ", input.sizes());
  TENON_CHECK(rois.dim() == 2 && rois.size(1) == 5, ValueError, op,
              ": expected regions [n, 5], got ", rois.sizes());
  TENON_CHECK(rows > 0 && columns > 0, ValueError, op, ": a region must have bins, got ", rows,
              " x ", columns);
}

// [batch, channels, height, width] -> [batch * height * width, channels]
Tensor pixels_of(const Tensor& input) {
  return input.permute({0, 2, 3, 1}).reshape({-1, input.size(1)});
}
// The same where channels are [out, rows, columns]: [batch * rows * columns * height * width, out].
Tensor pixels_by_position(const Tensor& input, const Grid& g, const char* op) {
  TENON_CHECK(input.size(1) % (g.rows * g.columns) == 0, ValueError, op, ": ", input.size(1),
              " channels are not a multiple of ", g.rows, " x ", g.columns);
  const int64_t out = input.size(1) / (g.rows * g.columns);
  return input.reshape({g.batch, out, g.rows, g.columns, g.height, g.width})
      .permute({0, 2, 3, 4, 5, 1})
      .reshape({-1, out});
}
Tensor in_regions(const Tensor& bins, const Tensor& rois, const Grid& g) {
  return bins.reshape({rois.size(0), g.rows, g.columns, bins.size(-1)})
      .permute({0, 3, 1, 2})
      .contiguous();
}

template <class T>
Tensor align(const Tensor& input, const Tensor& rois, const Grid& g, const Pooling<T>& p) {
  const Tensor pixels = p.by_position ? pixels_by_position(input, g, p.op) : pixels_of(input);
  const Pooled made = pool_regions<T>(pixels, rois, false, [&](const T* r, Bags<T>& bags) {
    Region<T> region(r, p.scale, p.aligned, g, p.op);
    if (!p.aligned && !p.by_position) {
      region.width = std::max(region.width, T(1));
      region.height = std::max(region.height, T(1));
    }
    align_bins(region, g, p, bags);
  });
  return in_regions(made.values, rois, g);
}

// As torchvision: computed in the regions' own precision, which decides the number of samples.
Tensor align_any(const Tensor& input, const Tensor& rois, const Grid& g, const char* op,
                 double scale, int64_t samples, bool aligned, bool by_position) {
  if (rois.scalar_type() == kDouble)
    return align<double>(input, rois, g, {op, scale, samples, aligned, by_position});
  return align<float>(input, rois, g,
                      {op, static_cast<float>(scale), samples, aligned, by_position});
}

// Which channel of the input each bin of the output is from.
Tensor channel_mapping(const Tensor& out) {
  const int64_t channels = out.size(1), bins = out.size(2) * out.size(3);
  return tenon::arange(channels * bins, TensorOptions(kInt).device(out.device()))
      .reshape({1, channels, out.size(2), out.size(3)})
      .expand(out.sizes())
      .contiguous();
}

Tensor roi_align(const Tensor& input, const Tensor& rois, double scale, int64_t rows,
                 int64_t columns, int64_t samples, bool aligned) {
  check("roi_align", input, rois, rows, columns);
  const Grid g{input.size(0), input.size(2), input.size(3), rows, columns};
  return align_any(input, rois, g, "roi_align", scale, samples, aligned, false);
}

std::tuple<Tensor, Tensor> ps_roi_align(const Tensor& input, const Tensor& rois, double scale,
                                        int64_t rows, int64_t columns, int64_t samples) {
  check("ps_roi_align", input, rois, rows, columns);
  const Grid g{input.size(0), input.size(2), input.size(3), rows, columns};
  const Tensor out = align_any(input, rois, g, "ps_roi_align", scale, samples, true, true);
  return {out, channel_mapping(out)};
}

// Regions of whole pixels, their last ones included where `last` is 1. As in torchvision in the
// input's precision: at a half the rounding of the product says which pixel it is.
Region<double> rounded(const double* r, double scale, bool wide, const Grid& g, const char* op,
                       double last) {
  const auto scaled = [&](double v) {
    return std::round(
        wide ? v * scale : static_cast<double>(static_cast<float>(v) * static_cast<float>(scale)));
  };
  Region<double> out(r, scale, false, g, op);
  out.x = scaled(r[1]), out.y = scaled(r[2]);
  out.width = std::max(scaled(r[3]) - out.x + last, 1.0);
  out.height = std::max(scaled(r[4]) - out.y + last, 1.0);
  return out;
}

std::tuple<Tensor, Tensor> roi_pool(const Tensor& input, const Tensor& rois, double scale,
                                    int64_t rows, int64_t columns) {
  check("roi_pool", input, rois, rows, columns);
  const bool wide = input.scalar_type() == kDouble;
  const Grid g{input.size(0), input.size(2), input.size(3), rows, columns};
  const Pooled made =
      pool_regions<double>(pixels_of(input), rois, true, [&](const double* r, Bags<double>& bags) {
        pool_bins(rounded(r, scale, wide, g, "roi_pool", 1.0), g, false, bags);
      });
  // Places are those within an image; -1 where a bin has no pixel.
  const Tensor places =
      tenon::where(made.places.lt(0), made.places, made.places.remainder(g.height * g.width));
  return {in_regions(made.values, rois, g), in_regions(places, rois, g).to(kInt)};
}

std::tuple<Tensor, Tensor> ps_roi_pool(const Tensor& input, const Tensor& rois, double scale,
                                       int64_t rows, int64_t columns) {
  check("ps_roi_pool", input, rois, rows, columns);
  const bool wide = input.scalar_type() == kDouble;
  const Grid g{input.size(0), input.size(2), input.size(3), rows, columns};
  const Pooled made = pool_regions<double>(
      pixels_by_position(input, g, "ps_roi_pool"), rois, false,
      [&](const double* r, Bags<double>& bags) {
        pool_bins(rounded(r, scale, wide, g, "ps_roi_pool", 0.0), g, true, bags);
      });
  const Tensor out = in_regions(made.values, rois, g);
  return {out, channel_mapping(out)};
}

const HostOperator list[] = {
    {"torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
     "int pooled_width, int sampling_ratio, bool aligned) -> Tensor",
     unboxed<roi_align>},
    {"torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, int "
     "pooled_height, int pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
     unboxed<ps_roi_align>},
    {"torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
     "int pooled_width) -> (Tensor, Tensor)",
     unboxed<roi_pool>},
    {"torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
     "int pooled_width) -> (Tensor, Tensor)",
     unboxed<ps_roi_pool>},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
