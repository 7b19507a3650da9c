// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A convolution as a primitive of oneDNN, and its weights in the layout that it needs.
#pragma once

#include <string_view>

#include "plugin_cpu/conv/conv.h"
#include "plugin_cpu/onednn/onednn.h"

namespace tenon::cpu {

enum Direction : int64_t { kForward, kData, kWeights };

struct ConvPrimitive {
  using Desc = dnnl::memory::desc;
  dnnl::primitive run;
  Desc x, w, y, bias, scratch;  // layouts that the primitive requires
  Desc user_x, user_w, user_y;  // layouts of the tensors
};

// The arguments of a primitive for so many images. One spatial dimension is passed as two, the
// first of size 1.
struct ConvShape {
  dnnl::memory::dims x, w, y, stride, dilation, pad_left, pad_right;
};
ConvShape conv_shape(const Conv& c, int64_t images);

// Of one image with so many channels; one spatial dimension is passed as two, the first of size 1.
dnnl::memory::dims image_dims(const Conv& c, int64_t channels);

inline int64_t bytes(const dnnl::memory::desc& d) { return static_cast<int64_t>(d.get_size()); }

// Whether oneDNN's kernel of this name writes what it should. Those for windows of one pixel on AMX
// compute two tiles of pixels at once, also where one is left: they read and write a tile beyond
// the images (2.6).
inline bool stays_in_bounds(std::string_view kernel) {
  return kernel.rfind("jit_1x1:avx512_core_amx", 0) != 0;
}

onednn::Key conv_key(Direction direction, dnnl::memory::data_type type, const Conv& c,
                     int64_t images, bool with_bias);
// The calling thread's primitive for so many images; throws dnnl::error if oneDNN has none.
ConvPrimitive& conv_primitive(Direction direction, dnnl::memory::data_type type, const Conv& c,
                              int64_t images, bool with_bias = false);

// The caller's memory if its layout fits, else a reordered copy in `buffer`.
const void* in_layout(const dnnl::memory::desc& user, const void* p, const dnnl::memory::desc& want,
                      void* buffer);

// Runs the primitive. What is written goes through a buffer if its layout differs; `x_is_ready`: x
// is read in the primitive's layout.
void execute(Direction direction, ConvPrimitive& p, const void* x, const void* w, const void* bias,
             const void* y, bool x_is_ready = false);

// Weights in the primitive's layout: the caller's, cached ones, or reordered for this call. `parts`
// primitives of the same shape share them: part i has the i-th share of the elements.
class ConvWeights {
 public:
  ConvWeights(const ConvPrimitive& p, const void* w, const packed::Origin& from, onednn::Key key,
              int64_t parts = 1);
  const void* of(int64_t part) const { return data_ + part * each_; }

 private:
  packed::Kept kept_;
  const char* data_;
  int64_t each_;  // bytes of a part
};

// Parts of the filters or groups that a forward convolution of few images is computed in; 1: none.
int64_t conv_parts(const Conv& c);
void conv_forward_parts(dnnl::memory::data_type type, const Conv& c, int64_t parts, const void* x,
                        const void* w, const packed::Origin& from, const void* bias, void* y);

// Parts of the rows that one image with few filters is computed in; 1: none.
int64_t conv_row_parts(const Conv& c);
void conv_forward_rows(dnnl::memory::data_type type, const Conv& c, int64_t parts, const void* x,
                       const void* w, const packed::Origin& from, const void* bias, void* y);

}  // namespace tenon::cpu
