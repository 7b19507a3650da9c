// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/upsampling.h"

#include <ostream>

#include "tenon/nn/functional/upsampling.h"
#include "tenon/nn/modules/shown_namespace.h"

namespace tenon {
namespace nn {

namespace {

functional::InterpolateFuncOptions::mode_t mode_of(const UpsampleOptions& options) {
  switch (options.mode().name()) {
    case enumtype::Name::Linear:
      return kLinear;
    case enumtype::Name::Bilinear:
      return kBilinear;
    case enumtype::Name::Bicubic:
      return kBicubic;
    case enumtype::Name::Trilinear:
      return kTrilinear;
    default:
      return kNearest;
  }
}

}  // namespace

UpsampleImpl::UpsampleImpl(UpsampleOptions options_) : options(std::move(options_)) {}
void UpsampleImpl::reset() {}

Tensor UpsampleImpl::forward(const Tensor& input) {
  return functional::interpolate(input, functional::InterpolateFuncOptions()
                                            .size(options.size())
                                            .scale_factor(options.scale_factor())
                                            .mode(mode_of(options))
                                            .align_corners(options.align_corners()));
}

void UpsampleImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Upsample(";
  if (options.scale_factor()) {
    stream << "scale_factor=[";
    for (std::size_t i = 0; i < options.scale_factor()->size(); ++i) {
      stream << (i ? ", " : "") << (*options.scale_factor())[i];
    }
    stream << "]";
  } else if (options.size()) {
    stream << "size=" << core::join(IntArrayRef(*options.size()));
  }
  stream << ", mode=" << enumtype::get_enum_name(options.mode()) << ")";
}

}  // namespace nn
}  // namespace tenon
