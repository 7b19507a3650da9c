// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/parallel/reducer.h"

#include <algorithm>
#include <numeric>

#include "distributed/parallel/sparse_gradients.h"
#include "tenon/autograd/callback.h"
#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/record_function.h"
#include "tenon/runtime/error.h"

namespace tenon::distributed {
namespace {

constexpr int64_t kMiB = 1 << 20;

std::vector<std::size_t> reversed_order(std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

}  // namespace

struct Reducer::Hook final : autograd::FunctionPostHook {
  Hook(std::weak_ptr<Reducer> r, std::size_t i) : reducer(std::move(r)), parameter(i) {}
  autograd::variable_list operator()(const autograd::variable_list& outputs,
                                     const autograd::variable_list&) override {
    if (const auto r = reducer.lock()) r->on_gradient(parameter);
    return outputs;
  }
  std::weak_ptr<Reducer> reducer;
  std::size_t parameter;
};

Reducer::Reducer(std::vector<Tensor> parameters, std::vector<std::string> names,
                 std::vector<bool> sparse, Comm comm, const DistributedDataParallelOptions& options)
    : parameters_(std::move(parameters)),
      names_(std::move(names)),
      sparse_(std::move(sparse)),
      comm_(std::move(comm)),
      options_(options),
      divisor_(comm_.size()),
      ready_(parameters_.size()),
      times_(parameters_.size()),
      flags_(zeros({2, static_cast<int64_t>(parameters_.size())}, kInt)) {
  make_buckets(reversed_order(parameters_.size()));
}

void Reducer::install_hooks() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    hooks_.push_back(autograd::impl::grad_accumulator(parameters_[i])
                         ->add_post_hook(std::make_unique<Hook>(weak_from_this(), i)));
  }
}

Reducer::~Reducer() {
  for (std::size_t i = 0; i < hooks_.size(); ++i) {
    const auto node = autograd::impl::grad_accumulator(parameters_[i]);
    if (node) node->del_post_hook(hooks_[i]);
  }
}

void Reducer::make_buckets(const std::vector<std::size_t>& order) {
  const NoGradGuard no_grad;
  const auto limit = static_cast<int64_t>(options_.bucket_cap_mb() * kMiB);
  order_ = order;
  buckets_.clear();
  places_.assign(parameters_.size(), {});
  std::vector<std::size_t> dense, sparse;
  for (const std::size_t i : order) (sparse_[i] ? sparse : dense).push_back(i);
  for (auto& indices : assign_buckets(parameters_, dense, std::min(kMiB, limit), limit))
    add_dense_bucket(std::move(indices));
  dense_buckets_ = buckets_.size();
  for (const std::size_t i : sparse) add_sparse_bucket(i);
}

void Reducer::add_dense_bucket(std::vector<std::size_t> indices) {
  Bucket b;
  int64_t numel = 0, at = 0;
  for (const std::size_t i : indices) numel += parameters_[i].numel();
  const Tensor& first = parameters_[indices[0]];
  b.flat = zeros({numel}, first.options().requires_grad(false));
  for (const std::size_t i : indices) {
    const Tensor& p = parameters_[i];
    places_[i] = {buckets_.size(), b.views.size()};
    b.views.push_back(b.flat.narrow(0, at, p.numel()).view(p.sizes()).detach());
    at += p.numel();
  }
  b.missing = indices.size();
  b.parameters = std::move(indices);
  buckets_.push_back(std::move(b));
}

// Its view becomes the average.
void Reducer::add_sparse_bucket(std::size_t i) {
  Bucket b;
  places_[i] = {buckets_.size(), 0};
  b.parameters = {i};
  b.views.resize(1);
  b.missing = 1;
  b.is_sparse = true;
  buckets_.push_back(std::move(b));
}

std::vector<std::string> Reducer::bucket(std::size_t index) const {
  std::vector<std::string> out;
  for (const std::size_t i : buckets_.at(index).parameters) out.push_back(names_[i]);
  return out;
}

void Reducer::rebuild_buckets() {
  rebuild_ = remake_ = false;
  rebuilt_ = true;
  std::vector<bool> seen(parameters_.size());
  for (const std::size_t i : arrival_) seen[i] = true;
  for (const std::size_t i : reversed_order(parameters_.size())) {
    if (!seen[i]) arrival_.push_back(i);
  }
  const std::vector<int64_t> mine(arrival_.begin(), arrival_.end());
  const Tensor sent = tensor(mine, kLong).to(comm_.device());
  comm_.broadcast(sent, 0).wait();
  const Tensor order = sent.cpu();
  const auto* at = order.const_data_ptr<int64_t>();
  make_buckets(std::vector<std::size_t>(at, at + order.numel()));
}

void Reducer::reset() {
  expecting_ = in_backward_ = false;
  next_ = 0;
  std::fill(ready_.begin(), ready_.end(), false);
  std::fill(times_.begin(), times_.end(), 0);
  unused_.clear();
  flags_pending_ = {};
  for (Bucket& b : buckets_) {
    b.missing = b.parameters.size();
    b.result = nullptr;
  }
}

std::string Reducer::missing_names() const {
  std::string out;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (!ready_[i]) out += (out.empty() ? "'" : ", '") + names_[i] + "'";
  }
  return out;
}

void Reducer::begin_iteration() {
  if (expecting_ && in_backward_) {
    const std::string missing = missing_names();
    reset();
    throw Error(core::join(
        "DistributedDataParallel: the gradients of the last iteration were not averaged, as these "
        "parameters got none: ",
        missing,
        ". Set find_unused_parameters(true) if a forward may leave parameters out, and "
        "use all outputs of forward() in the loss"));
  }
  reset();
  if (rebuild_) rebuild_buckets();
  if (remake_) make_buckets(std::vector<std::size_t>(order_));
  remake_ = false;
}

void Reducer::find_unused(const std::vector<Tensor>& outputs) {
  std::unordered_map<const void*, std::size_t> index;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    index[parameters_[i].unsafeGetTensorImpl()] = i;
  std::vector<bool> reached(parameters_.size());
  std::unordered_map<autograd::Node*, bool> seen;
  std::vector<autograd::Node*> stack;
  std::vector<autograd::Edge> roots;
  for (const Tensor& t : outputs) {
    if (t.defined() && t.requires_grad()) roots.push_back(autograd::gradient_edge(t));
  }
  const auto visit = [&](const autograd::Edge& e) {
    if (e.function && seen.insert({e.function.get(), true}).second)
      stack.push_back(e.function.get());
  };
  for (const auto& e : roots) visit(e);
  while (!stack.empty()) {
    autograd::Node* n = stack.back();
    stack.pop_back();
    if (n->accumulates) {
      const Tensor& leaf = static_cast<autograd::AccumulateGrad*>(n)->variable;
      const auto found = index.find(leaf.unsafeGetTensorImpl());
      if (found != index.end()) reached[found->second] = true;
    }
    for (uint32_t i = 0; i < n->n_edges; ++i) visit(n->next_edge(i));
  }
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (!reached[i]) unused_.push_back(i);
  }
}

void Reducer::expect(const std::vector<Tensor>& outputs) {
  expecting_ = true;
  if (options_.static_graph()) {
    for (std::size_t i = 0; i < times_expected_.size(); ++i) {
      if (times_expected_[i] == 0) unused_.push_back(i);
    }
  } else if (options_.find_unused_parameters()) {
    find_unused(outputs);
  }
}

void Reducer::check_gradient(std::size_t i) const {
  const Tensor& grad = parameters_[i].grad();
  if (!grad.defined()) return;
  TENON_CHECK(!GradMode::is_enabled() && !grad.requires_grad(), Error,
              "DistributedDataParallel: gradients must not require grad, that of '", names_[i],
              "' does: backward(create_graph=true) is not possible, as averages over ranks are not "
              "recorded; call autograd::grad() on the module itself");
  const Layout expected = sparse_[i] ? kSparse : kStrided;
  const bool is_found = grad.is_sparse() && tells_flags();
  TENON_CHECK(
      is_found || grad.layout() == expected, Error, "DistributedDataParallel: the gradient of '",
      names_[i], "' has layout ", toString(grad.layout()), ", expected ", toString(expected),
      ": those of an nn::Embedding or nn::EmbeddingBag with sparse(true) are sparse, others "
      "have the layout of the first iteration");
  TENON_CHECK(
      grad.scalar_type() == parameters_[i].scalar_type() && grad.sizes() == parameters_[i].sizes(),
      Error, "DistributedDataParallel: the gradient of '", names_[i], "' has sizes ", grad.sizes(),
      ", the parameter ", parameters_[i].sizes());
}

void Reducer::on_gradient(std::size_t i) {
  if (GradMode::is_enabled()) {
    expecting_ = false;
    check_gradient(i);
  }
  if (parameters_[i].grad().defined()) flag(kUsed, i) = 1;
  if (!sync_ || !expecting_) return;
  check_gradient(i);
  if (options_.static_graph() && times_expected_.empty()) {
    if (!in_backward_) {
      in_backward_ = true;
      arrival_.clear();
      autograd::queue_callback([self = shared_from_this()] { self->finish_first_static(); });
    }
    if (times_[i]++ == 0) arrival_.push_back(i);
    return;
  }
  try {
    if (!in_backward_) begin_backward();
    if (options_.static_graph() && ++times_[i] < times_expected_[i]) return;
    if (!rebuilt_) arrival_.push_back(i);
    mark_ready(i);
  } catch (...) {
    reset();
    throw;
  }
}

void Reducer::begin_backward() {
  in_backward_ = true;
  if (!rebuilt_) arrival_.clear();
  for (const std::size_t i : unused_) mark_ready(i);
}

void Reducer::fill_view(std::size_t i) {
  if (sparse_[i]) return;
  const Place at = places_[i];
  const Tensor& view = buckets_[at.bucket].views[at.position];
  const Tensor& grad = parameters_[i].grad();
  if (!grad.defined() || grad.is_sparse()) {
    view.zero_();
    flag(kFoundSparse, i) = grad.defined() && flag(kUsed, i) != 0;
  } else if (grad.unsafeGetTensorImpl() != view.unsafeGetTensorImpl()) {
    view.copy_(grad);
    // A gradient that is not this iteration's stays as it is until another rank has used it.
    if (flag(kUsed, i) != 0) parameters_[i].mutable_grad() = view;
  }
}

void Reducer::mark_ready(std::size_t i) {
  TENON_CHECK(!ready_[i], Error, "DistributedDataParallel: the gradient of '", names_[i],
              "' came twice in one iteration: by two backward passes over one forward, or by a "
              "checkpoint, or because it was found unused and is not; static_graph(true) allows "
              "for the checkpoint");
  ready_[i] = true;
  const NoGradGuard no_grad;
  fill_view(i);
  --buckets_[places_[i].bucket].missing;
  send_full_buckets();
}

void Reducer::send_full_buckets() {
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) send(next_++);
  if (next_ < buckets_.size()) return;
  send_flags();
  autograd::queue_callback([self = shared_from_this()] { self->finish(); });
}

void Reducer::send_flags() {
  if (!tells_flags()) return;
  flags_sent_ = flags_.to(comm_.device());
  flags_pending_ = comm_.all_reduce(flags_sent_);
}

void Reducer::send(std::size_t index, bool brings_rows) {
  Bucket& b = buckets_[index];
  if (b.is_sparse) {
    const Tensor& p = parameters_[b.parameters[0]];
    b.result = [this, p, grad = brings_rows ? p.grad() : Tensor(), divisor = divisor_] {
      return average_rows(comm_, grad, p, divisor);
    };
    return;
  }
  RecordFunction range(RecordScope::USER_SCOPE);
  range.before("DistributedDataParallel::send");
  if (options_.comm_hook()) {
    GradBucket bucket(index, dense_buckets_, b.flat, b.views);
    b.result = options_.comm_hook()->run(bucket);
    return;
  }
  b.flat.div_(divisor_);
  b.result = [flat = b.flat, pending = comm_.all_reduce(b.flat)]() mutable {
    pending.wait();
    return flat;
  };
}

void Reducer::finish_first_static() {
  times_expected_ = times_;
  for (std::size_t i = 0; i < parameters_.size(); ++i) mark_ready(i);
}

void Reducer::take_results() {
  for (Bucket& b : buckets_) {
    const Tensor result = b.result();
    b.result = nullptr;
    if (b.is_sparse) {
      b.views[0] = result;
      continue;
    }
    if (result.unsafeGetTensorImpl() == b.flat.unsafeGetTensorImpl()) continue;
    TENON_CHECK(result.defined() && result.numel() == b.flat.numel(), ValueError,
                "DistributedDataParallel: the comm_hook returned ",
                result.defined() ? result.numel() : 0, " elements for a bucket of ",
                b.flat.numel());
    b.flat.copy_(result.view({-1}));
  }
}

// All ranks have the same flags, and gather rows of the same parameters or throw.
std::vector<Tensor> Reducer::found_sparse() {
  std::vector<Tensor> out(parameters_.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int sparse = flag(kFoundSparse, i), used = flag(kUsed, i);
    TENON_CHECK(sparse == 0 || sparse == used, Error, "DistributedDataParallel: the gradient of '",
                names_[i], "' is sparse on ", sparse, " of the ", used,
                " ranks that have one, expected on all or none");
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (flag(kFoundSparse, i) == 0) continue;
    const Tensor& p = parameters_[i];
    // A strided one is of an earlier iteration.
    const bool mine = p.grad().defined() && p.grad().is_sparse();
    out[i] = average_rows(comm_, mine ? p.grad() : Tensor(), p, divisor_);
    sparse_[i] = remake_ = true;
  }
  return out;
}

void Reducer::finish() {
  const NoGradGuard no_grad;
  std::vector<Tensor> rows(parameters_.size());
  RecordFunction range(RecordScope::USER_SCOPE);
  range.before("DistributedDataParallel::wait");
  try {
    take_results();
    if (tells_flags()) {
      flags_pending_.wait();
      flags_.copy_(flags_sent_);
      rows = found_sparse();
    }
  } catch (...) {
    flags_.zero_();
    reset();
    throw;
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (may_skip() && flag(kUsed, i) == 0) continue;
    const Place at = places_[i];
    parameters_[i].mutable_grad() =
        rows[i].defined() ? rows[i] : buckets_[at.bucket].views[at.position];
  }
  flags_.zero_();
  rebuild_ = !rebuilt_ && (options_.static_graph() || !options_.find_unused_parameters());
  reset();
}

void Reducer::shadow_iteration() {
  const NoGradGuard no_grad;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (!buckets_[i].is_sparse) buckets_[i].flat.zero_();
    send(i, /*brings_rows=*/false);
  }
  flags_.zero_();
  send_flags();
  finish();
}

}  // namespace tenon::distributed
