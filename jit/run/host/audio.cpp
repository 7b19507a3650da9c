// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of torchaudio, computed on the host. Each sample takes the ones before it. They record
// no gradients, as in torch, where torchaudio's layers have backwards of their own.
#include <algorithm>
#include <limits>
#include <vector>

#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/jit/operator.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

Tensor on_host(const Tensor& t, ScalarType dtype) { return t.to(kCPU).to(dtype).contiguous(); }

ScalarType real_dtype(const char* op, const Tensor& t) {
  TENON_CHECK(t.scalar_type() == kFloat32 || t.scalar_type() == kDouble, TypeError, op,
              ": expected float32 or float64, got ", dtype_name(t.scalar_type()));
  return t.scalar_type();
}

struct Filter {
  int64_t batch, channels, samples, order;
};

// out[b, c, i + order - 1] = in[b, c, i] - sum of out[b, c, i + k] * a[c, k]
template <class T>
void filter(const Filter& f, const T* in, const T* a, T* out) {
  const int64_t padded = f.samples + f.order - 1;
  for (int64_t row = 0; row < f.batch * f.channels; ++row) {
    const T* coefficients = a + row % f.channels * f.order;
    T* o = out + row * padded;
    for (int64_t i = 0; i < f.samples; ++i) {
      T sample = in[row * f.samples + i];
      for (int64_t k = 0; k < f.order; ++k) sample -= o[i + k] * coefficients[k];
      o[i + f.order - 1] = sample;
    }
  }
}

void lfilter_core_loop(Stack& s) {
  const Tensor out = pop(s).toTensor(), a = pop(s).toTensor(), in = pop(s).toTensor();
  const char* name = "_lfilter_core_loop";
  TENON_CHECK(in.dim() == 3 && a.dim() == 2 && a.size(0) == in.size(1) && a.size(1) > 0 &&
                  out.dim() == 3 && out.size(0) == in.size(0) && out.size(1) == in.size(1) &&
                  out.size(2) == in.size(2) + a.size(1) - 1,
              ValueError, name,
              ": expected the sizes [batch, channels, samples], [channels, order]",
              " and [batch, channels, samples + order - 1], got ", in.sizes(), ", ", a.sizes(),
              " and ", out.sizes());
  const NoGradGuard values_only;
  const ScalarType dtype = real_dtype(name, out);
  const Tensor x = on_host(in, dtype), c = on_host(a, dtype), y = on_host(out, dtype).clone();
  const Filter f{in.size(0), in.size(1), in.size(2), a.size(1)};
  if (dtype == kDouble)
    filter(f, x.data_ptr<double>(), c.data_ptr<double>(), y.data_ptr<double>());
  else
    filter(f, x.data_ptr<float>(), c.data_ptr<float>(), y.data_ptr<float>());
  out.copy_(y);
  s.emplace_back(out);
}

template <class T>
void overdrive(int64_t samples, const T* wave, const T* loud, T& last_in, T& last_out, T* out) {
  for (int64_t i = 0; i < samples; ++i) {
    last_out = loud[i] - last_in + static_cast<T>(0.995) * last_out;
    last_in = loud[i];
    out[i] = wave[i] * static_cast<T>(0.5) + last_out * static_cast<T>(0.75);
  }
}

// waveform, temp and output are [channels, samples], the last ones [channels].
void overdrive_core_loop(Stack& s) {
  const Tensor out = pop(s).toTensor(), last_out = pop(s).toTensor(), last_in = pop(s).toTensor(),
               temp = pop(s).toTensor(), waveform = pop(s).toTensor();
  const char* name = "_overdrive_core_loop";
  TENON_CHECK(waveform.dim() == 2 && temp.sizes() == waveform.sizes() &&
                  out.sizes() == waveform.sizes() && last_in.numel() == waveform.size(0) &&
                  last_out.numel() == waveform.size(0),
              ValueError, name, ": expected three tensors of the sizes [channels, samples] and two",
              " of [channels], got ", waveform.sizes(), ", ", temp.sizes(), ", ", out.sizes(), ", ",
              last_in.sizes(), " and ", last_out.sizes());
  const NoGradGuard values_only;
  const ScalarType dtype = real_dtype(name, out);
  const Tensor w = on_host(waveform, dtype), t = on_host(temp, dtype),
               in = on_host(last_in, dtype).clone(), end = on_host(last_out, dtype).clone(),
               y = on_host(out, dtype).clone();
  const int64_t samples = waveform.size(1);
  const auto run = [&](auto* wave, auto* loud, auto* i, auto* e, auto* o) {
    for (int64_t c = 0; c < waveform.size(0); ++c)
      overdrive(samples, wave + c * samples, loud + c * samples, i[c], e[c], o + c * samples);
  };
  if (dtype == kDouble)
    run(w.data_ptr<double>(), t.data_ptr<double>(), in.data_ptr<double>(), end.data_ptr<double>(),
        y.data_ptr<double>());
  else
    run(w.data_ptr<float>(), t.data_ptr<float>(), in.data_ptr<float>(), end.data_ptr<float>(),
        y.data_ptr<float>());
  last_in.copy_(in.view(last_in.sizes()));
  last_out.copy_(end.view(last_out.sizes()));
  out.copy_(y);
  for (const Tensor& result : {last_in, last_out, out}) s.emplace_back(result);
}

// The best path of CTC through one utterance: states alternate between blanks (even) and labels.
// log_probs is [frames, classes]. Writes the class of each frame.
template <class T>
void align(const T* log_probs, int64_t frames, int64_t classes, const std::vector<int64_t>& labels,
           int64_t blank, int64_t* path) {
  const auto n_labels = static_cast<int64_t>(labels.size()), states = 2 * n_labels + 1;
  const auto label = [&](int64_t i) { return labels[static_cast<std::size_t>(i)]; };
  const auto class_of = [&](int64_t state) { return state % 2 == 0 ? blank : label(state / 2); };
  // A blank has to stand between two equal labels.
  const auto may_skip = [&](int64_t state) {
    return state % 2 == 1 && state > 1 && label(state / 2) != label(state / 2 - 1);
  };
  constexpr T kNever = -std::numeric_limits<T>::infinity();
  std::vector<T> before(static_cast<std::size_t>(states), kNever), now = before;
  std::vector<int8_t> steps(static_cast<std::size_t>(frames * states));
  for (int64_t s = 0; s < std::min<int64_t>(2, states); ++s)
    before[static_cast<std::size_t>(s)] = log_probs[class_of(s)];
  for (int64_t t = 1; t < frames; ++t, before.swap(now)) {
    for (int64_t s = 0; s < states; ++s) {
      const auto at = static_cast<std::size_t>(s);
      // Of equal ones torchaudio stays where it is.
      const T stay = before[at], next = s > 0 ? before[at - 1] : kNever,
              skip = may_skip(s) ? before[at - 2] : kNever;
      const int step = skip > next && skip > stay ? 2 : next > skip && next > stay ? 1 : 0;
      now[at] = before[at - static_cast<std::size_t>(step)] + log_probs[t * classes + class_of(s)];
      steps[static_cast<std::size_t>(t * states + s)] = static_cast<int8_t>(step);
    }
  }
  int64_t state = states - 1;
  if (states > 1 &&
      !(before[static_cast<std::size_t>(state)] > before[static_cast<std::size_t>(state - 1)]))
    --state;
  for (int64_t t = frames - 1; t >= 0; --t) {
    path[t] = class_of(state);
    state -= steps[static_cast<std::size_t>(t * states + state)];
  }
}

// The labels of the utterance, checked: they index log_probs.
std::vector<int64_t> labels_of(const char* name, const Tensor& targets, int64_t classes,
                               int64_t blank) {
  const Tensor on_cpu = on_host(targets, kLong);
  const auto* first = on_cpu.data_ptr<int64_t>();
  std::vector<int64_t> labels(first, first + on_cpu.numel());
  for (const int64_t l : labels)
    TENON_CHECK(0 <= l && l < classes && l != blank, IndexError, name, ": label ", l, " of ",
                classes, " classes with the blank ", blank);
  return labels;
}

// (log_probs [1, frames, classes], targets [1, labels], lengths, lengths, blank): the class of each
// frame, and log_probs, out of which torchaudio takes the scores.
void forced_align(Stack& s) {
  const int64_t blank = pop_as<int64_t>(s);
  const Tensor target_lengths = pop(s).toTensor(), input_lengths = pop(s).toTensor();
  const Tensor targets = pop(s).toTensor(), log_probs = pop(s).toTensor();
  const char* name = "forced_align";
  TENON_CHECK(
      log_probs.dim() == 3 && targets.dim() == 2 && log_probs.size(0) == 1 && targets.size(0) == 1,
      ValueError, name, ": expected the sizes [1, frames, classes] and [1, labels], got ",
      log_probs.sizes(), " and ", targets.sizes());
  const int64_t frames = log_probs.size(1), classes = log_probs.size(2), n = targets.size(1);
  TENON_CHECK(input_lengths.numel() == 1 && target_lengths.numel() == 1 &&
                  input_lengths.item<int64_t>() == frames && target_lengths.item<int64_t>() == n,
              ValueError, name, ": the lengths must be ", frames, " and ", n);
  TENON_CHECK(0 <= blank && blank < classes, IndexError, name, ": blank ", blank, " of ", classes,
              " classes");
  const NoGradGuard values_only;
  const std::vector<int64_t> labels = labels_of(name, targets, classes, blank);
  int64_t needed = n;
  for (std::size_t i = 1; i < labels.size(); ++i) needed += labels[i] == labels[i - 1];
  TENON_CHECK(frames > 0 && frames >= needed, ValueError, name, ": ", n,
              " labels, with a blank between equal ones, need ", needed, " frames, got ", frames);
  const ScalarType dtype = real_dtype(name, log_probs);
  const Tensor scores = on_host(log_probs, dtype), path = zeros({1, frames}, kLong);
  auto* to = path.data_ptr<int64_t>();
  if (dtype == kDouble)
    align(scores.data_ptr<double>(), frames, classes, labels, blank, to);
  else
    align(scores.data_ptr<float>(), frames, classes, labels, blank, to);
  s.emplace_back(path.to(targets.device()).to(targets.scalar_type()));
  s.emplace_back(log_probs);
}

const HostOperator list[] = {
    {"torchaudio::forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, "
     "Tensor target_lengths, int blank) -> (Tensor, Tensor)",
     forced_align},
    {"torchaudio::_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, "
     "Tensor(a!) padded_output_waveform) -> Tensor(a!)",
     lfilter_core_loop},
    {"torchaudio::_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, "
     "Tensor(b!) last_out, Tensor(c!) output_waveform) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
     overdrive_core_loop},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
