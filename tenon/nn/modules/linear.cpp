// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/linear.h"

#include <cmath>
#include <ostream>

#include "tenon/nn/functional/linear.h"
#include "tenon/nn/init.h"
#include "tenon/nn/modules/shown_namespace.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {

void IdentityImpl::reset() {}
void IdentityImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Identity()";
}
Tensor IdentityImpl::forward(const Tensor& input) { return input; }

LinearImpl::LinearImpl(int64_t in_features, int64_t out_features)
    : LinearImpl(LinearOptions(in_features, out_features)) {}
LinearImpl::LinearImpl(const LinearOptions& options_) : options(options_) { LinearImpl::reset(); }

void LinearImpl::reset() {
  weight =
      register_parameter("weight", tenon::empty({options.out_features(), options.in_features()}));
  bias = options.bias() ? register_parameter("bias", tenon::empty({options.out_features()}))
                        : register_parameter("bias", {}, false);
  reset_parameters();
}

void LinearImpl::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const double bound =
      options.in_features() > 0 ? 1 / std::sqrt(static_cast<double>(options.in_features())) : 0;
  init::uniform_(bias, -bound, bound);
}

void LinearImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace()
         << "Linear(in_features=" << options.in_features()
         << ", out_features=" << options.out_features() << ", bias=" << options.bias() << ")";
}

Tensor LinearImpl::forward(const Tensor& input) { return functional::linear(input, weight, bias); }

FlattenImpl::FlattenImpl(const FlattenOptions& options_) : options(options_) {}
void FlattenImpl::reset() {}
void FlattenImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Flatten(start_dim=" << options.start_dim()
         << ", end_dim=" << options.end_dim() << ")";
}
Tensor FlattenImpl::forward(const Tensor& input) {
  return input.flatten(options.start_dim(), options.end_dim());
}

UnflattenImpl::UnflattenImpl(int64_t dim, std::vector<int64_t> sizes)
    : UnflattenImpl(UnflattenOptions(dim, std::move(sizes))) {}
UnflattenImpl::UnflattenImpl(UnflattenOptions options_) : options(std::move(options_)) {}
void UnflattenImpl::reset() {}
void UnflattenImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Unflatten(dim=";
  const char* separator = "";
  if (options.namedshape().empty()) {
    stream << options.dim() << ", unflattened_size={";
    for (const int64_t size : options.sizes()) {
      stream << separator << size;
      separator = ", ";
    }
  } else {
    stream << '"' << options.dimname() << "\", unflattened_size={";
    for (const auto& named : options.namedshape()) {
      stream << separator << "{\"" << named.first << "\", " << named.second << "}";
      separator = ", ";
    }
  }
  stream << "})";
}
Tensor UnflattenImpl::forward(const Tensor& input) {
  TENON_CHECK(options.namedshape().empty(), NotImplementedError, "Unflatten: dimension '",
              options.dimname(), "': tensors have no names of dimensions");
  return input.unflatten(options.dim(), options.sizes());
}

BilinearImpl::BilinearImpl(int64_t in1_features, int64_t in2_features, int64_t out_features)
    : BilinearImpl(BilinearOptions(in1_features, in2_features, out_features)) {}
BilinearImpl::BilinearImpl(const BilinearOptions& options_) : options(options_) {
  BilinearImpl::reset();
}

void BilinearImpl::reset() {
  weight = register_parameter(
      "weight",
      tenon::empty({options.out_features(), options.in1_features(), options.in2_features()}));
  bias = options.bias() ? register_parameter("bias", tenon::empty({options.out_features()}))
                        : register_parameter("bias", {}, false);
  reset_parameters();
}

void BilinearImpl::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(weight.size(1)));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

void BilinearImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace()
         << "Bilinear(in1_features=" << options.in1_features()
         << ", in2_features=" << options.in2_features()
         << ", out_features=" << options.out_features() << ", bias=" << options.bias() << ")";
}

Tensor BilinearImpl::forward(const Tensor& input1, const Tensor& input2) {
  return functional::bilinear(input1, input2, weight, bias);
}

}  // namespace nn
}  // namespace tenon
