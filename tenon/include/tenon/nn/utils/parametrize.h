// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Parametrizations: a parameter that is a function of others, which are trained instead of it.
//
//   struct Symmetric : parametrize::Parametrization {
//     Tensor forward(const Tensor& x) override { return x.triu() + x.triu(1).t(); }
//   };
//   parametrize::register_parametrization(*fc, "weight", std::make_shared<Symmetric>());
//
// The names in state_dict() are PyTorch's: parametrizations.weight.original.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/nn/module.h"

namespace tenon {
namespace nn {
namespace utils {
namespace parametrize {

// One with parameters or buffers of its own overrides clone(), if the module is to be cloned.
class TENON_API Parametrization : public Module {
 public:
  using Module::Module;
  virtual Tensor forward(const Tensor& x) = 0;
  // A tensor that forward() maps to x, for assignments; undefined if there is none, as by default.
  virtual Tensor right_inverse(const Tensor& x);
  // The same for a parametrization of several tensors, which must be the first of a list.
  virtual Tensor forward_all(const std::vector<Tensor>& originals);
  virtual std::vector<Tensor> right_inverse_all(const Tensor& x);
  // Shares the object: right for parametrizations without state.
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
};

// The parametrizations of one tensor, children "0", "1", ..., applied in that order to the
// parameter "original", or to "original0", "original1", ...
class TENON_API ParametrizationList : public Module {
 public:
  // ValueError if the first right_inverse gives what cannot be a parameter.
  ParametrizationList(const Tensor& original, const std::shared_ptr<Parametrization>& first);
  Tensor forward() const;
  // Sets the originals such that forward() gives `value`. NotImplementedError if a parametrization
  // has no right_inverse.
  void right_inverse(const Tensor& value);
  void append(const std::shared_ptr<Parametrization>& next);
  std::size_t size() const { return children().size(); }
  std::vector<Tensor> originals() const { return parameters(/*recurse=*/false); }
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;

 private:
  ParametrizationList();
};

// Puts the parametrization around what the tensor is now. Unless `unsafe`, ValueError when it
// changes the shape or the dtype. ValueError: no parameter of that name.
TENON_API void register_parametrization(Module& module, const std::string& tensor_name,
                                        std::shared_ptr<Parametrization> parametrization,
                                        bool unsafe = false);
// Whether a tensor, or any one, has parametrizations.
TENON_API bool is_parametrized(const Module& module,
                               const std::optional<std::string>& tensor_name = std::nullopt);
// Those of a tensor. ValueError if there are none.
TENON_API std::shared_ptr<ParametrizationList> parametrizations_of(const Module& module,
                                                                   const std::string& tensor_name);
// The parameter is back: with the value that it has now, or with that of the original. ValueError
// without parametrizations, and for the latter if there are several originals.
TENON_API void remove_parametrizations(Module& module, const std::string& tensor_name,
                                       bool leave_parametrized = true);

}  // namespace parametrize
}  // namespace utils
}  // namespace nn
}  // namespace tenon
