// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "tenon/runtime/threads.h"
#include "tenon/tenon.h"
#include "tests/process/scenarios.h"

namespace tenon::process {

std::string& g_program = *new std::string;
std::string& g_folder = *new std::string;

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(1, text.data(), text.size()) < 0) _exit(77);
}

namespace {

void expect(const char* what, double got, double right) {
  say(std::abs(got - right) < 1e-3
          ? std::string(what) + " right"
          : std::string(what) + ": " + std::to_string(got) + ", not " + std::to_string(right));
}

// Products, a convolution of oneDNN's and a loop that the pool shares.
double numbers() {
  const double product = ones({40, 30}).mm(ones({30, 20})).sum().item<double>();
  const double convolved = conv2d(ones({1, 2, 6, 6}), ones({3, 2, 3, 3})).sum().item<double>();
  const double shared = (ones({300, 400}) * 2 + 1).sum().item<double>();
  return product + convolved + shared;
}
constexpr double kNumbers = 40 * 30 * 20 + 3 * 16 * 18 + 300 * 400 * 3;

double gradients() {
  AutoGradMode recorded(true);  // also in a hook
  Tensor x = full({5, 4}, 2.0).requires_grad_(), w = ones({4, 3}).requires_grad_();
  (x.mm(w).pow(2).sum() + (x * x).sum()).backward();
  return x.grad().sum().item<double>() + w.grad().sum().item<double>();
}
constexpr double kGradients = 20 * (2 * 8 * 3 + 4) + 12 * (5 * 2 * 8 * 2);

void forward() { expect("forward", numbers(), kNumbers); }
void backward() { expect("backward", gradients(), kGradients); }
void saving() {
  const std::string file = g_folder + "/saved" + std::to_string(getpid());
  save(std::vector<Tensor>{ones({3, 4}), arange(5, kFloat)}, file);
  std::vector<Tensor> back;
  load(back, file);
  unlink(file.c_str());
  expect("saving", back.at(0).sum().item<double>() + back.at(1).sum().item<double>(), 22);
}
void errors() {
  try {
    ones({2, 3}).mm(ones({2, 3}));
    say("errors: none was thrown");
  } catch (const Error& e) {
    say(std::strstr(e.what(), "mm") != nullptr ? "errors right" : "errors: wrong text");
  }
}

}  // namespace

const std::vector<Work>& works() {
  // Never destroyed: it is asked from destructors of statics.
  static const auto& all = *new std::vector<Work>{
      {"forward", forward}, {"backward", backward}, {"saving", saving}, {"errors", errors}};
  return all;
}

const Work& work(const std::string& name) {
  for (const Work& w : works()) {
    if (w.name == name) return w;
  }
  throw std::invalid_argument("no work is called " + name);
}

}  // namespace tenon::process
