// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
//   loop_programs_on_device NAME [FOLDER]
// The programs of FOLDER, else tests/loop_program/programs, on a device, all by its kernel, against
// the host; and a function that tenon::compile() fuses.
#include <tenon/core/dispatch.h>
#include <tenon/jit/compile.h>
#include <tenon/ops/loop_program.gen.h>

#include <cstdio>
#include <cstring>

#include "tests/loop_program/samples.h"

using namespace tenon;

namespace {

int failures = 0;
void expect(bool good, const std::string& what) {
  if (good) return;
  std::printf("loop programs: %s\n", what.c_str());
  ++failures;
}

std::vector<Tensor> moved(const std::vector<Tensor>& tensors, const Device& to) {
  std::vector<Tensor> list;
  list.reserve(tensors.size());
  for (const Tensor& t : tensors) list.push_back(t.to(to));
  return list;
}

void run(const samples::Sample& s, const Device& device) {
  std::vector<Tensor> inputs = samples::inputs(s);
  for (const bool strided : {false, true}) {
    std::vector<Tensor> there = moved(inputs, device);
    for (size_t k = 0; k < inputs.size() && strided; ++k) {
      // Every third element, from the second on.
      const Tensor wide = repeat_interleave(there[k].unsqueeze(-1), 3, -1);
      there[k] = wide.select(-1, 1);
    }
    const std::vector<Tensor> expected =
        _loop_program(inputs, s.text, samples::numbers(s), samples::reals(s));
    core::reset_fallback_counts();
    const std::vector<Tensor> got =
        _loop_program(there, s.text, samples::numbers(s), samples::reals(s));
    // The sizes of a program without inputs do not name a device.
    for (const core::FallbackCount& c : core::fallback_counts())
      expect(c.op != "_loop_program_", s.name + " was left to the fallback: " + c.reason);
    for (size_t k = 0; k < got.size(); ++k) {
      expect(inputs.empty() || got[k].device().type() == device.type(), s.name + ": other device");
      expect(samples::agree(got[k].cpu(), expected[k]),
             s.name + ", output " + std::to_string(k) + (strided ? ", strided" : "") + " differs");
    }
  }
}

// As at a program's end, the report is found at the next synchronization.
void report(const Device& device) {
  const char* text =
      "loops 1\nsize N\nsize M\ninput x float32 [N]\ninput at int64 [M]\noutput y float32 [M]\n"
      "for i < M\n%0 = read at [i]\n%1 = read x [check %0]\ny [i] = %1\n";
  const std::vector<Tensor> inputs = {ones({4}, device), full({3}, 9, kLong).to(device)};
  try {
    _loop_program(inputs, text)[0].cpu();
    expect(false, "an index outside is no error");
  } catch (const IndexError& e) {
    expect(std::strstr(e.what(), "9"),
           std::string("the error does not name the index: ") + e.what());
  }
}

int programs = 0;
void count_programs(void*, const core::Op& op, core::DeviceSlot, int64_t, int64_t) {
  if (std::string_view(op.name) == "_loop_program_") ++programs;
}

void fuse(const Device& device) {
  const Tensor x = randn({300, 1000}), b = randn({1000});
  const auto f = [](const Tensor& a, const Tensor& c) { return ((a + c).tanh() * 0.25 - a).exp(); };
  const auto compiled = compile(f);
  const Tensor there = x.to(device), bias = b.to(device);
  core::set_kernel_observer(count_programs, nullptr);
  for (int call = 0; call < 6; ++call)
    expect(allclose(compiled(there, bias).cpu(), f(x, b), 1e-5, 1e-5), "a fused function differs");
  core::set_kernel_observer(nullptr, nullptr);
  expect(programs > 0, "nothing was fused");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    const Device device(argv[1]);
    manual_seed(3);
    int n = 0;
    for (const samples::Sample& s : samples::read_all(argc > 2 ? argv[2] : TENON_LOOP_PROGRAMS)) {
      run(s, device);
      ++n;
    }
    report(device);
    fuse(device);
    std::printf("%d loop programs on %s, %d failures\n", n, argv[1], failures);
    return n > 0 && failures == 0 ? 0 : 1;
  } catch (const std::exception& e) {
    std::printf("loop programs: %s\n", e.what());
    return 1;
  }
}
