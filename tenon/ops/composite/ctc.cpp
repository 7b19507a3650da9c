// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Connectionist temporal classification (Graves et al. 2006, section 4): the probability of all
// paths that spell a target, by the recurrence over time. Its gradient is that of the operators.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

// Stands for the logarithm of 0 where a difference of two must not be NaN.
constexpr double kImpossible = -1e30;

struct Batch {
  std::vector<int64_t> inputs, targets;  // lengths
};

// The targets of a batch one below another, shorter ones filled up with blanks: [n, longest].
Tensor target_rows(const Tensor& targets, const Batch& b, int64_t blank, int64_t classes) {
  const auto n = static_cast<int64_t>(b.targets.size());
  const int64_t longest = n ? *std::max_element(b.targets.begin(), b.targets.end()) : 0;
  const Tensor host = targets.detach().to(kCPU).to(kLong).contiguous();
  TENON_CHECK(host.dim() == 1 || (host.dim() == 2 && host.size(0) == n), ValueError,
              "ctc_loss: expected targets of one dimension, or ", n, " rows, got ",
              targets.sizes());
  std::vector<int64_t> rows(static_cast<std::size_t>(n * longest), blank);
  int64_t before = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t length = b.targets[static_cast<std::size_t>(i)];
    const int64_t begin = host.dim() == 2 ? i * host.size(1) : before,
                  room = host.dim() == 2 ? host.size(1) : host.size(0) - before;
    TENON_CHECK(length >= 0, ValueError, "ctc_loss: target ", i, " has a negative length, ",
                length);
    TENON_CHECK(length <= room, ValueError, "ctc_loss: Expected tensor to have size at least ",
                host.dim() == 2 ? length : before + length, " at dimension ", host.dim() - 1,
                ", but got size ", host.size(-1), " for targets");
    const int64_t* from = host.data_ptr<int64_t>() + begin;
    for (int64_t k = 0; k < length; ++k) {
      TENON_CHECK(from[k] >= 0 && from[k] < classes, IndexError, "ctc_loss: label ", from[k],
                  " of target ", i, " is not one of ", classes, " classes");
      rows[static_cast<std::size_t>(i * longest + k)] = from[k];
    }
    before += length;
  }
  return tenon::tensor(rows, TensorOptions(kLong)).view({n, longest}).to(targets.device());
}

// A blank before, between and after the labels: [n, 2 longest + 1].
Tensor with_blanks(const Tensor& rows, int64_t blank) {
  const Tensor blanks = tenon::full({rows.size(0), rows.size(1)}, blank, rows.options()),
               last = tenon::full({rows.size(0), 1}, blank, rows.options());
  return tenon::cat({tenon::stack({blanks, rows}, 2).flatten(1), last}, 1);
}

Tensor shifted(const Tensor& alpha, int64_t by) {
  return tenon::constant_pad_nd(alpha, {by, -by}, kImpossible);
}

// The logarithm of the probability of each target, log_probs [time, n, classes].
// `alphas`, if given, gets the logarithms of the probabilities of the beginnings at each time.
Tensor log_likelihood(const Tensor& log_probs, const Tensor& labels, const Batch& b,
                      std::vector<Tensor>* alphas) {
  const int64_t time = log_probs.size(0), n = log_probs.size(1), states = labels.size(1);
  const Tensor emitted = log_probs.gather(2, labels.unsqueeze(0).expand({time, n, states}));
  const Tensor input_lengths =
      tenon::tensor(b.inputs, TensorOptions(kLong)).to(log_probs.device()).unsqueeze(1);
  // A label may follow the one before it without a blank between unless they are the same.
  Tensor skips = tenon::zeros({n, states}, TensorOptions(kBool).device(log_probs.device()));
  if (states > 2) skips.slice(1, 2).copy_(labels.slice(1, 2).ne(labels.slice(1, 0, states - 2)));
  const Tensor starts =
      tenon::arange(states, TensorOptions(kLong).device(log_probs.device())).lt(2);
  Tensor alpha = tenon::where(starts, emitted.select(0, 0), kImpossible);
  if (alphas) alphas->push_back(alpha);
  for (int64_t t = 1; t < time; ++t) {
    Tensor next = tenon::logaddexp(alpha, shifted(alpha, 1));
    if (states > 2)
      next = tenon::logaddexp(next, tenon::where(skips, shifted(alpha, 2), kImpossible));
    alpha = tenon::where(input_lengths.gt(t), next + emitted.select(0, t), alpha);
    if (alphas) alphas->push_back(alpha);
  }
  const Tensor ends = tenon::tensor(b.targets, TensorOptions(kLong)).to(log_probs.device()) * 2;
  const Tensor in_blank = alpha.gather(1, ends.unsqueeze(1)).squeeze(1),
               in_label = alpha.gather(1, (ends - 1).clamp_min(0).unsqueeze(1)).squeeze(1);
  const Tensor of_input = tenon::where(ends.gt(0), tenon::logaddexp(in_blank, in_label), in_blank);
  // Without input there is one path, which spells nothing.
  const Tensor of_none = tenon::where(ends.gt(0), kImpossible, 0.).to(of_input.scalar_type());
  return tenon::where(input_lengths.squeeze(1).gt(0), of_input, of_none);
}

// Zero, whose gradient is exp(log_probs) up to the end of each sequence: with it the gradient of
// the loss is that for the logits under a log_softmax, as in ATen.
Tensor of_logits(const Tensor& log_probs, const Batch& b) {
  const Tensor p = log_probs.exp(),
               places = tenon::arange(p.size(0), TensorOptions(kLong).device(p.device()));
  const Tensor lengths = tenon::tensor(b.inputs, TensorOptions(kLong)).to(p.device());
  const Tensor ended = places.unsqueeze(1).ge(lengths).unsqueeze(2);
  return (p - p.detach()).masked_fill(ended, 0).sum({0, 2});
}

// Of each sequence.
Tensor losses_of(const Tensor& p, const Tensor& targets, const Batch& b, int64_t blank,
                 bool zero_infinity, std::vector<Tensor>* alphas) {
  const auto n = static_cast<std::size_t>(p.size(1));
  TENON_CHECK(b.inputs.size() == n && b.targets.size() == n, ValueError,
              "ctc_loss: input_lengths and target_lengths must be of size batch_size, expected ", n,
              " lengths, got ", b.inputs.size(), " of inputs and ", b.targets.size(),
              " of targets");
  TENON_CHECK(p.scalar_type() == kDouble || p.scalar_type() == kFloat, TypeError,
              "ctc_loss: not implemented for dtype ", toString(p.scalar_type()),
              "; it takes float64, float32");
  TENON_CHECK(blank >= 0 && blank < p.size(2), ValueError,
              "ctc_loss: blank must be in label range");
  for (const int64_t length : b.inputs)
    TENON_CHECK(length >= 0 && length <= p.size(0), ValueError,
                "ctc_loss: expected lengths of inputs from 0 to ", p.size(0), ", got ", length);
  const Tensor rows = target_rows(targets, b, blank, p.size(2)).to(p.device());
  const Tensor zero = of_logits(p, b),
               loss = log_likelihood(p, with_blanks(rows, blank), b, alphas).neg() + zero;
  const Tensor impossible = loss.gt(-kImpossible / 10);
  if (zero_infinity) return loss.masked_fill(impossible, 0);
  // Of an infinite loss the gradient is NaN, that of the root of a square at 0.
  const Tensor infinite =
      tenon::where(impossible, zero, 1.).square().sqrt() + std::numeric_limits<double>::infinity();
  return tenon::where(impossible, infinite, loss);
}

Tensor batched(const Tensor& log_probs) {
  TENON_CHECK(log_probs.dim() == 3 || log_probs.dim() == 2, ValueError,
              "ctc_loss: expected log_probs [time, batch, classes], got ", log_probs.sizes());
  return log_probs.dim() == 3 ? log_probs : log_probs.unsqueeze(1);
}

Tensor loss_of(const Tensor& log_probs, const Tensor& targets, const Batch& b, int64_t blank,
               int64_t reduction, bool zero_infinity) {
  const Tensor loss = losses_of(batched(log_probs), targets, b, blank, zero_infinity, nullptr);
  if (reduction == 1) {
    const Tensor lengths = tenon::tensor(b.targets, TensorOptions(kLong)).to(loss.device());
    return (loss / lengths.clamp_min(1)).mean();
  }
  if (reduction == 2) return loss.sum();
  return log_probs.dim() == 3 ? loss : loss.squeeze(0);
}
std::vector<int64_t> numbers(const char* argument, const Tensor& t) {
  TENON_CHECK(isIntegralType(t.scalar_type(), /*include_bool=*/false), TypeError,
              "ctc_loss: ", argument, " must be integral, got ", toString(t.scalar_type()));
  const Tensor host = t.detach().to(kCPU).to(kLong).reshape({-1}).contiguous();
  return {host.data_ptr<int64_t>(), host.data_ptr<int64_t>() + host.numel()};
}

}  // namespace

Tensor ctc_loss_IntList(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                        IntArrayRef target_lengths, int64_t blank, int64_t reduction,
                        bool zero_infinity) {
  return loss_of(log_probs, targets, {input_lengths.vec(), target_lengths.vec()}, blank, reduction,
                 zero_infinity);
}
Tensor ctc_loss_Tensor(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                       const Tensor& target_lengths, int64_t blank, int64_t reduction,
                       bool zero_infinity) {
  return loss_of(
      log_probs, targets,
      {numbers("input_lengths", input_lengths), numbers("target_lengths", target_lengths)}, blank,
      reduction, zero_infinity);
}

std::tuple<Tensor, Tensor> _ctc_loss(const Tensor& log_probs, const Tensor& targets,
                                     IntArrayRef input_lengths, IntArrayRef target_lengths,
                                     int64_t blank, bool zero_infinity) {
  std::vector<Tensor> alphas;
  const Tensor loss =
      losses_of(batched(log_probs), targets, {input_lengths.vec(), target_lengths.vec()}, blank,
                zero_infinity, &alphas);
  return {log_probs.dim() == 3 ? loss : loss.squeeze(0), tenon::stack(alphas, 1).detach()};
}
std::tuple<Tensor, Tensor> _ctc_loss_Tensor(const Tensor& log_probs, const Tensor& targets,
                                            const Tensor& input_lengths,
                                            const Tensor& target_lengths, int64_t blank,
                                            bool zero_infinity) {
  return tenon::_ctc_loss(log_probs, targets, numbers("input_lengths", input_lengths),
                          numbers("target_lengths", target_lengths), blank, zero_infinity);
}

}  // namespace tenon::composite
