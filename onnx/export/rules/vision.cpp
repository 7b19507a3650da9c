// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// torchvision's operators on boxes and regions.
#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

// Boxes of one image and one class, best first: the last of (image, class, box) in each row.
void nms(Call& c) {
  const std::string boxes = c.unsqueeze(c.in("dets", kFloat32), {0}),
                    scores = c.unsqueeze(c.in("scores", kFloat32), {0, 1}),
                    all = c.slice(c.op("Shape", {c.in("scores")}), 0, 0, 1);
  const std::string kept =
      c.op("NonMaxSuppression",
           {boxes, scores, all,
            c.constant(full({1}, c.number("iou_threshold"), TensorOptions(kFloat32)))});
  c.give(c.op("Gather", {kept, c.constant(as_tensor(IValue(int64_t{2})))}, {{"axis", int64_t{1}}}));
}

// Regions are rows of (image, x1, y1, x2, y2).
std::string aligned_parts(Call& c, bool aligned) {
  need(!aligned || c.exporter.opset() >= 16, "aligned needs opset 16");
  const std::string rois = c.in("rois"), image = c.int_list({0}), axis = c.int_list({1});
  const std::string of = c.cast(c.op("Squeeze", {c.op("Slice", {rois, image, axis, axis}), axis}),
                                c.dtype("rois"), kInt64);
  Attrs attrs{{"spatial_scale", c.number("spatial_scale")},
              {"output_height", c.integer("pooled_height")},
              {"output_width", c.integer("pooled_width")},
              {"sampling_ratio", std::max<int64_t>(c.integer("sampling_ratio"), 0)}};
  if (c.exporter.opset() >= 16)
    attrs.push_back({"coordinate_transformation_mode",
                     std::string(aligned ? "half_pixel" : "output_half_pixel")});
  return c.op("RoiAlign", {c.in("input"), c.slice(rois, 1, 1, 5), of}, attrs);
}
void roi_align(Call& c) { c.give(aligned_parts(c, c.flag("aligned"))); }

// Each part of the box has channels of its own: of all parts of these the one that is theirs.
void ps_roi_align(Call& c) {
  need(c.node.output(1)->uses().empty(), "which channels it took");
  const int64_t h = c.integer("pooled_height"), w = c.integer("pooled_width");
  const std::string all = aligned_parts(c, true);
  const std::string parts =
      c.op("Reshape", {all, c.int_list({0, c.size("input", 1) / (h * w), h * w, h * w})});
  const Tensor own = eye(h * w, TensorOptions(c.dtype("input")));
  const std::string mine = c.reduce("ReduceSum", c.op("Mul", {parts, c.constant(own)}), {3}, false);
  c.give(c.op("Reshape", {mine, c.int_list({0, c.size("input", 1) / (h * w), h, w})}), 0);
}

void roi_pool(Call& c) {
  need(c.node.output(1)->uses().empty(), "the places of the maxima");
  const std::vector<int64_t> shape{c.integer("pooled_height"), c.integer("pooled_width")};
  c.give(c.op("MaxRoiPool", {c.in("input"), c.in("rois")},
              {{"pooled_shape", IValue(shape)}, {"spatial_scale", c.number("spatial_scale")}}),
         0);
}

const Rules::Entry list[] = {{"torchvision::nms", nms},
                             {"torchvision::roi_align", roi_align},
                             {"torchvision::roi_pool", roi_pool},
                             {"torchvision::ps_roi_align", ps_roi_align}};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
