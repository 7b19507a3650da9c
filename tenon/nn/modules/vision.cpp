// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/vision.h"

#include <ostream>

#include "tenon/nn/functional/vision.h"
#include "tenon/nn/modules/shown_namespace.h"

namespace tenon {
namespace nn {

CosineSimilarityImpl::CosineSimilarityImpl(const CosineSimilarityOptions& options_)
    : options(options_) {}
void CosineSimilarityImpl::reset() {}
Tensor CosineSimilarityImpl::forward(const Tensor& x1, const Tensor& x2) {
  return functional::cosine_similarity(x1, x2, options);
}
void CosineSimilarityImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "CosineSimilarity(dim=" << options.dim()
         << ", eps=" << options.eps() << ")";
}

PairwiseDistanceImpl::PairwiseDistanceImpl(const PairwiseDistanceOptions& options_)
    : options(options_) {}
void PairwiseDistanceImpl::reset() {}
Tensor PairwiseDistanceImpl::forward(const Tensor& x1, const Tensor& x2) {
  return functional::pairwise_distance(x1, x2, options);
}
void PairwiseDistanceImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "PairwiseDistance(p=" << options.p()
         << ", eps=" << options.eps() << ", keepdim=" << options.keepdim() << ")";
}

PixelShuffleImpl::PixelShuffleImpl(const PixelShuffleOptions& options_) : options(options_) {}
void PixelShuffleImpl::reset() {}
Tensor PixelShuffleImpl::forward(const Tensor& input) {
  return functional::pixel_shuffle(input, options);
}
void PixelShuffleImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace()
         << "PixelShuffle(upscale_factor=" << options.upscale_factor() << ")";
}

PixelUnshuffleImpl::PixelUnshuffleImpl(const PixelUnshuffleOptions& options_) : options(options_) {}
void PixelUnshuffleImpl::reset() {}
Tensor PixelUnshuffleImpl::forward(const Tensor& input) {
  return functional::pixel_unshuffle(input, options);
}
void PixelUnshuffleImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace()
         << "PixelUnshuffle(downscale_factor=" << options.downscale_factor() << ")";
}

FoldImpl::FoldImpl(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
    : FoldImpl(FoldOptions(output_size, kernel_size)) {}
FoldImpl::FoldImpl(const FoldOptions& options_) : options(options_) {}
void FoldImpl::reset() {}
Tensor FoldImpl::forward(const Tensor& input) { return functional::fold(input, options); }
void FoldImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Fold(output_size=" << options.output_size()
         << ", kernel_size=" << options.kernel_size() << ", dilation=" << options.dilation()
         << ", padding=" << options.padding() << ", stride=" << options.stride() << ")";
}

UnfoldImpl::UnfoldImpl(ExpandingArray<2> kernel_size) : UnfoldImpl(UnfoldOptions(kernel_size)) {}
UnfoldImpl::UnfoldImpl(const UnfoldOptions& options_) : options(options_) {}
void UnfoldImpl::reset() {}
Tensor UnfoldImpl::forward(const Tensor& input) { return functional::unfold(input, options); }
void UnfoldImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Unfold(kernel_size=" << options.kernel_size()
         << ", dilation=" << options.dilation() << ", padding=" << options.padding()
         << ", stride=" << options.stride() << ")";
}

}  // namespace nn
}  // namespace tenon
