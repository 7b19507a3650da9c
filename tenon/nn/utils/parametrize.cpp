// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/utils/parametrize.h"

#include "tenon/nn/extras.h"
#include "tenon/nn/modules/containers.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace utils {
namespace parametrize {
namespace {

using nn::detail::ComputedTensor;
using nn::detail::kParametrizations;
using nn::detail::ModuleAccess;
constexpr const char* kKind = "a parametrization";

std::shared_ptr<ParametrizationList> find_list(const Module& module, const std::string& name) {
  const auto lists = module.named_children();
  const auto* holder = lists.find(kParametrizations);
  if (!holder) return nullptr;
  const auto found = (*holder)->named_children();
  const auto* list = found.find(name);
  return list ? std::dynamic_pointer_cast<ParametrizationList>(*list) : nullptr;
}

// The child that has a list for each parametrized tensor.
struct Lists : Module {
  Lists() : Module("tenon::nn::ModuleDict") {}
  std::shared_ptr<Module> clone(const std::optional<Device>& device) const override {
    auto copy = std::make_shared<Lists>();
    for (const auto& child : children_)
      copy->register_module(child.key(), child.value()->clone(device));
    copy->train(is_training());
    return copy;
  }
};

void check_same_kind(const Tensor& before, const Tensor& after, const std::string& name) {
  TENON_CHECK(before.scalar_type() == after.scalar_type(), ValueError,
              "register_parametrization: the parametrization of '", name,
              "' changes its dtype from ", dtype_name(before.scalar_type()), " to ",
              dtype_name(after.scalar_type()), "; pass unsafe if that is meant");
  TENON_CHECK(before.sizes() == after.sizes(), ValueError,
              "register_parametrization: the parametrization of '", name,
              "' changes its shape from ", before.sizes(), " to ", after.sizes(),
              "; pass unsafe if that is meant");
}

void compute_from_list(Module& module, const std::string& name) {
  ComputedTensor computed;
  computed.name = name;
  computed.kind = kKind;
  computed.depends_on_training = true;
  computed.sources = [name](const Module& owner) { return find_list(owner, name)->parameters(); };
  computed.compute = [name](const Module& owner) { return find_list(owner, name)->forward(); };
  nn::detail::add_computed(module, std::move(computed));
}

}  // namespace

Tensor Parametrization::right_inverse(const Tensor&) { return {}; }
Tensor Parametrization::forward_all(const std::vector<Tensor>& originals) {
  TENON_CHECK(originals.size() == 1, ValueError, name(), ": a parametrization of one tensor got ",
              originals.size());
  return forward(originals[0]);
}
std::vector<Tensor> Parametrization::right_inverse_all(const Tensor& x) {
  return {right_inverse(x)};
}
std::shared_ptr<Module> Parametrization::clone(const std::optional<Device>&) const {
  TENON_CHECK(parameters().empty() && buffers().empty(), NotImplementedError, "clone: ", name(),
              " is a parametrization with parameters or buffers; override its clone()");
  return std::const_pointer_cast<Module>(shared_from_this());
}

ParametrizationList::ParametrizationList() : Module("tenon::nn::utils::ParametrizationList") {}

ParametrizationList::ParametrizationList(const Tensor& original,
                                         const std::shared_ptr<Parametrization>& first)
    : ParametrizationList() {
  NoGradGuard no_grad;
  std::vector<Tensor> values = {Tensor()};
  try {
    values = first->right_inverse_all(original.detach());
  } catch (const NotImplementedError&) {
    // As without a right_inverse: the original is what it was.
  }
  TENON_CHECK(!values.empty(), ValueError, "register_parametrization: right_inverse of ",
              first->name(), " returned no tensor");
  if (values.size() == 1 && !values[0].defined()) values[0] = original.detach();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string name = values.size() == 1 ? "original" : "original" + std::to_string(i);
    TENON_CHECK(values[i].defined(), ValueError, "register_parametrization: right_inverse of ",
                first->name(), " returned an undefined tensor");
    register_parameter(
        name, values[i].detach().clone(),
        original.requires_grad() && (values[i].is_floating_point() || values[i].is_complex()));
  }
  append(first);
}

void ParametrizationList::append(const std::shared_ptr<Parametrization>& next) {
  next->train(is_training());
  register_module(std::to_string(size()), next);
}

Tensor ParametrizationList::forward() const {
  std::vector<Tensor> values = originals();
  for (const auto& child : children_)
    values = {std::static_pointer_cast<Parametrization>(child.value())->forward_all(values)};
  return values.front();
}

void ParametrizationList::right_inverse(const Tensor& value) {
  NoGradGuard no_grad;
  std::vector<Tensor> values = {value};
  const auto list = children();
  for (std::size_t i = list.size(); i-- > 0;) {
    values = std::static_pointer_cast<Parametrization>(list[i])->right_inverse_all(values.front());
    TENON_CHECK(!values.empty() && values.front().defined(), NotImplementedError,
                "right_inverse: the parametrization ", list[i]->name(), " has none");
  }
  const std::vector<Tensor> to = originals();
  TENON_CHECK(values.size() == to.size(), ValueError, "right_inverse: expected ", to.size(),
              " tensors, got ", values.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    TENON_CHECK(values[i].sizes() == to[i].sizes(), ValueError, "right_inverse: expected shape ",
                to[i].sizes(), ", got ", values[i].sizes());
  }
  for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(values[i]);
}

std::shared_ptr<Module> ParametrizationList::clone(const std::optional<Device>& device) const {
  std::shared_ptr<ParametrizationList> copy(new ParametrizationList());
  for (const auto& p : parameters_) {
    const Tensor value = p.value().detach();
    copy->register_parameter(p.key(),
                             device ? value.to(*device, false, /*copy=*/true) : value.clone(),
                             p.value().requires_grad());
  }
  for (const auto& child : children_)
    copy->register_module(child.key(), child.value()->clone(device));
  copy->train(is_training());
  return copy;
}

void register_parametrization(Module& module, const std::string& tensor_name,
                              std::shared_ptr<Parametrization> parametrization, bool unsafe) {
  TENON_CHECK(parametrization != nullptr, ValueError,
              "register_parametrization: the parametrization is a null pointer");
  parametrization->train(module.is_training());
  if (const auto list = find_list(module, tensor_name)) {
    NoGradGuard no_grad;
    const Tensor before = list->forward();
    const Tensor inverse = parametrization->right_inverse(before);
    if (!unsafe) check_same_kind(before, parametrization->forward(before), tensor_name);
    list->append(parametrization);
    if (inverse.defined()) list->right_inverse(before);
    ModuleAccess::find_computed(module, tensor_name)->forget();
    return;
  }
  const Tensor original =
      nn::detail::free_parameter(module, tensor_name, "register_parametrization");
  const auto list = std::make_shared<ParametrizationList>(original, parametrization);
  if (!unsafe) {
    NoGradGuard no_grad;
    check_same_kind(original, list->forward(), tensor_name);
  }
  auto& children = ModuleAccess::children(module);
  if (!children.contains(kParametrizations))
    module.register_module(kParametrizations, std::make_shared<Lists>());
  children[kParametrizations]->train(module.is_training());
  children[kParametrizations]->register_module(tensor_name, list);
  compute_from_list(module, tensor_name);
}

bool is_parametrized(const Module& module, const std::optional<std::string>& tensor_name) {
  if (tensor_name) return find_list(module, *tensor_name) != nullptr;
  return module.named_children().contains(kParametrizations);
}

std::shared_ptr<ParametrizationList> parametrizations_of(const Module& module,
                                                         const std::string& tensor_name) {
  auto list = find_list(module, tensor_name);
  TENON_CHECK(list != nullptr, ValueError, "'", tensor_name, "' of ", module.name(),
              " has no parametrization");
  return list;
}

void remove_parametrizations(Module& module, const std::string& tensor_name,
                             bool leave_parametrized) {
  const auto list = parametrizations_of(module, tensor_name);
  const std::vector<Tensor> originals = list->originals();
  TENON_CHECK(leave_parametrized || originals.size() == 1, ValueError, "remove_parametrizations: '",
              tensor_name,
              "' is computed from several tensors, so it can only be left parametrized");
  nn::detail::remove_computed(module, tensor_name, kKind);
  if (!leave_parametrized) {
    NoGradGuard no_grad;
    ModuleAccess::parameters(module)[tensor_name].set_data(originals[0].detach());
  }
  auto& children = ModuleAccess::children(module);
  children[kParametrizations]->unregister_module(tensor_name);
  if (children[kParametrizations]->children().empty()) children.erase(kParametrizations);
}

}  // namespace parametrize
}  // namespace utils
}  // namespace nn
}  // namespace tenon
