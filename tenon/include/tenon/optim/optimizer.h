// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The base of optimizers: groups of parameters with their options, and a state for each parameter.
//
// step() reads .grad and never writes into it: weight decay is applied to a copy.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "tenon/archives.h"
#include "tenon/arg.h"
#include "tenon/function_ref.h"
#include "tenon/tensor.h"

namespace tenon {

namespace optim {

// Goes over the named fields of options and states; reads or writes them.
class TENON_API FieldVisitor {
 public:
  virtual ~FieldVisitor();
  virtual void field(const char* name, double& value) = 0;
  virtual void field(const char* name, int64_t& value) = 0;
  virtual void field(const char* name, bool& value) = 0;
  virtual void field(const char* name, Tensor& value) = 0;
  // NotImplementedError unless the visitor overrides them.
  virtual void field(const char* name, std::optional<int64_t>& value);
  virtual void field(const char* name, std::optional<std::string>& value);
  virtual void field(const char* name, std::vector<Tensor>& value);
  // As a list of tensors.
  void field(const char* name, std::deque<Tensor>& value);
  // An empty list is nothing.
  void field(const char* name, std::optional<std::vector<Tensor>>& value);
};

class TENON_API OptimizerOptions {
 public:
  virtual ~OptimizerOptions();
  // NotImplementedError for a class that does not override it, as OptimizerCloneableOptions does.
  virtual std::unique_ptr<OptimizerOptions> clone() const;
  // NotImplementedError for options that have no learning rate.
  virtual double get_lr() const;
  virtual void set_lr(double lr);
  // Names each field to the visitor; what is saved, compared and printed. None by default.
  virtual void fields(FieldVisitor& visitor);
  // ValueError for a value that is out of range.
  virtual void check() const;
  // Reads or writes the fields. NotImplementedError where there are none and a class does not
  // override these.
  virtual void serialize(serialize::InputArchive& archive);
  virtual void serialize(serialize::OutputArchive& archive) const;
  // Takes the values of `other`, which has the same type.
  virtual void assign(OptimizerOptions&& other);
};

class TENON_API OptimizerParamState {
 public:
  virtual ~OptimizerParamState();
  virtual std::unique_ptr<OptimizerParamState> clone() const;
  virtual void fields(FieldVisitor& visitor);
  virtual void serialize(serialize::InputArchive& archive);
  virtual void serialize(serialize::OutputArchive& archive) const;
};

namespace detail {
template <class T, class = void>
struct has_lr : std::false_type {};
template <class T>
struct has_lr<T, std::void_t<decltype(std::declval<const T&>().lr())>> : std::true_type {};

// Whether all fields are equal; tensors by their values.
TENON_API bool equal_fields(const OptimizerOptions& a, const OptimizerOptions& b);
TENON_API bool equal_fields(const OptimizerParamState& a, const OptimizerParamState& b);
}  // namespace detail

template <class Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
  double get_lr() const override {
    if constexpr (detail::has_lr<Derived>::value) return static_cast<const Derived*>(this)->lr();
    return OptimizerOptions::get_lr();
  }
  void set_lr(double lr) override {
    if constexpr (detail::has_lr<Derived>::value) {
      static_cast<Derived*>(this)->lr(lr);
    } else {
      OptimizerOptions::set_lr(lr);
    }
  }
  void assign(OptimizerOptions&& other) override {
    static_cast<Derived&>(*this) = static_cast<Derived&&>(other);
  }
};

template <class Derived>
class OptimizerCloneableParamState : public OptimizerParamState {
 public:
  std::unique_ptr<OptimizerParamState> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

template <class Derived>
bool operator==(const OptimizerCloneableOptions<Derived>& a,
                const OptimizerCloneableOptions<Derived>& b) {
  return detail::equal_fields(a, b);
}
template <class Derived>
bool operator==(const OptimizerCloneableParamState<Derived>& a,
                const OptimizerCloneableParamState<Derived>& b) {
  return detail::equal_fields(a, b);
}

// Parameters with one set of options; without options it takes the optimizer's defaults.
class TENON_API OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<Tensor> params) : params_(std::move(params)) {}
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options)
      : params_(std::move(params)), options_(std::move(options)) {}
  OptimizerParamGroup(const OptimizerParamGroup& other)
      : params_(other.params_), options_(other.options_ ? other.options_->clone() : nullptr) {}
  OptimizerParamGroup& operator=(const OptimizerParamGroup& other) {
    params_ = other.params_;
    options_ = other.options_ ? other.options_->clone() : nullptr;
    return *this;
  }
  OptimizerParamGroup(OptimizerParamGroup&&) noexcept = default;
  OptimizerParamGroup& operator=(OptimizerParamGroup&&) noexcept = default;

  bool has_options() const { return options_ != nullptr; }
  OptimizerOptions& options();
  const OptimizerOptions& options() const;
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }

 private:
  std::vector<Tensor> params_;
  std::unique_ptr<OptimizerOptions> options_;
};

class TENON_API Optimizer {
 public:
  // Computes the loss and its gradients again; called with gradients on.
  using LossClosure = FunctionRef<Tensor()>;
  using StateMap = std::unordered_map<void*, std::unique_ptr<OptimizerParamState>>;

  Optimizer(const std::vector<OptimizerParamGroup>& param_groups,
            std::unique_ptr<OptimizerOptions> defaults);
  Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(Optimizer&&) = default;
  virtual ~Optimizer();

  // ValueError: a parameter that is undefined, not a leaf or in a group already. A group may be
  // empty, as in libtorch.
  void add_param_group(const OptimizerParamGroup& param_group);
  void add_parameters(const std::vector<Tensor>& parameters);

  // Parameters without a gradient are left as they are. Returns the loss of the closure, if one is
  // given.
  virtual Tensor step(LossClosure closure = nullptr);
  void zero_grad(bool set_to_none = true);

  // Those of the first group, as in libtorch, which warns that they will go.
  const std::vector<Tensor>& parameters() const;
  std::vector<Tensor>& parameters();
  std::size_t size() const;  // of all groups
  OptimizerOptions& defaults() noexcept { return *defaults_; }
  const OptimizerOptions& defaults() const noexcept { return *defaults_; }
  std::vector<OptimizerParamGroup>& param_groups() noexcept { return param_groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const noexcept { return param_groups_; }
  // By unsafeGetTensorImpl() of the parameter.
  StateMap& state() noexcept { return state_; }
  const StateMap& state() const noexcept { return state_; }

  // Options by group and states by position; load needs groups of the same sizes.
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);

 protected:
  // A parameter that has a gradient; its state is null the first time.
  struct Item {
    Tensor& param;
    Tensor grad;
    std::unique_ptr<OptimizerParamState>& state;
  };
  // The step of a group, without recording; by default update() of one parameter after the other.
  virtual void update_all(ArrayRef<Item> items, const OptimizerOptions& options);
  // One parameter's step, without recording. `state` is null the first time.
  virtual void update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
                      std::unique_ptr<OptimizerParamState>& state);
  virtual std::unique_ptr<OptimizerParamState> new_state() const;
  // Whether one state, kept for the first parameter, has all parameters' elements in one list.
  virtual bool state_is_flat() const;
  // new_state(), but not in a capture, whose replays would make it again each time.
  std::unique_ptr<OptimizerParamState> first_state(const Tensor& param) const;
  // Whether a step takes gradients with a layout of their own; step() refuses them otherwise.
  virtual bool takes_layouts() const;

  std::vector<OptimizerParamGroup> param_groups_;
  StateMap state_;
  std::unique_ptr<OptimizerOptions> defaults_;
};

// An optimizer with options and a state for each parameter of its own.
template <class Options, class ParamState>
class OptimizerOf : public Optimizer {
 public:
  explicit OptimizerOf(const std::vector<OptimizerParamGroup>& param_groups, Options defaults = {})
      : Optimizer(param_groups, std::make_unique<Options>(std::move(defaults))) {}
  explicit OptimizerOf(std::vector<Tensor> params, Options defaults = {})
      : Optimizer(std::move(params), std::make_unique<Options>(std::move(defaults))) {}

 protected:
  std::unique_ptr<OptimizerParamState> new_state() const override {
    return std::make_unique<ParamState>();
  }
};

// One that updates a parameter at a time, whose first step makes its state.
template <class Options, class ParamState>
class SerialOptimizer : public OptimizerOf<Options, ParamState> {
 public:
  using OptimizerOf<Options, ParamState>::OptimizerOf;

 protected:
  virtual void init_state(ParamState& state, const Tensor& param, const Options& options) const = 0;
  virtual void update_param(Tensor& param, const Tensor& grad, ParamState& state,
                            const Options& options) const = 0;

  void update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
              std::unique_ptr<OptimizerParamState>& state) override {
    const auto& own_options = static_cast<const Options&>(options);
    if (!state) {  // kept when it is whole
      std::unique_ptr<OptimizerParamState> first = this->first_state(param);
      init_state(static_cast<ParamState&>(*first), param, own_options);
      state = std::move(first);
    }
    update_param(param, grad, static_cast<ParamState&>(*state), own_options);
  }
};

// NotImplementedError if the parameter's device captures a graph, whose replays would not do what
// `why` says.
TENON_API void refuse_capture(const Tensor& param, const char* why);
inline constexpr const char* kFirstStep =
    "its state is made in the first step; take that before the capture";

// A value that went out of its range: "invalid lr: -1".
#define TENON_OPTIM_CHECK(condition, name, value) \
  TENON_CHECK(condition, ValueError, "invalid ", name, ": ", value)

}  // namespace optim
}  // namespace tenon
