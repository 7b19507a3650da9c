// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The rows of a GPU: "id<TAB>row<TAB>value<TAB>unit", ours or the device's lower bounds
// (--lower-bounds); peer.py prints libtorch's. --small: with tensors too small for a measurement,
// to test the program.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "plugin_cuda/lower_bounds/lower_bounds.h"
#include "tenon/jit/compile.h"
#include "tenon/runtime/allocator.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

int64_t g_max = kGiB;  // --small: the maximum of every size and count
int64_t at_most(int64_t n) { return std::min(n, g_max); }

struct Product {
  const char* name;
  int64_t batch, m, k, n;
};
constexpr Product kProducts[] = {{"8192^3", 1, 8192, 8192, 8192},
                                 {"64 x 1024^3", 64, 1024, 1024, 1024},
                                 {"8192^2 x 16", 1, 8192, 8192, 16}};
constexpr std::pair<ScalarType, tenon_bound_type> kTypes[] = {
    {kBFloat16, TENON_BOUND_BFLOAT16}, {kHalf, TENON_BOUND_FLOAT16}, {kFloat, TENON_BOUND_FLOAT32}};
std::string row_of(const Product& p, ScalarType dtype) {
  return core::join("matmul ", dtype_name(dtype), " ", p.name);
}
double teraflops(const Product& p, double ms) {
  return 2e-9 * static_cast<double>(p.batch * p.m * p.k * p.n) / ms;
}

struct Convolution {
  const char* name;
  int64_t images, channels, side, kernel;
};
constexpr Convolution kConvolutions[] = {{"64 x 56^2, 3x3", 64, 64, 56, 3},
                                         {"256 x 14^2, 3x3", 64, 256, 14, 3},
                                         {"512 x 7^2, 1x1", 64, 512, 7, 1}};
std::string row_of(const Convolution& c) {
  return core::join("conv forward and backward, ", c.name);
}

Product shrunk(const Product& p) {
  return {p.name, at_most(p.batch), at_most(p.m), at_most(p.k), at_most(p.n)};
}
Convolution shrunk(const Convolution& c) {
  return {c.name, at_most(c.images), at_most(c.channels), at_most(c.side), at_most(c.kernel)};
}

core::DeviceId cuda() { return {core::usable_slot(kCUDA), 0}; }
const tn_device_api& api() { return *core::device_entry(cuda()).api; }
void wait() { core::synchronize(cuda()); }

double now_us() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

void print(const char* id, const std::string& row, double value, const char* unit) {
  std::printf("%s\t%s\t%.4g\t%s\n", id, row.c_str(), value, unit);
  std::fflush(stdout);
}

// Milliseconds on the device, the median of five measurements of `times` runs.
double device_ms(int times, const std::function<void()>& run) {
  const tn_device_api& a = api();
  tn_event *begin = nullptr, *end = nullptr;
  core::check_device(cuda(), "event_create", a.event_create(a.context, 0, 0, &begin));
  core::check_device(cuda(), "event_create", a.event_create(a.context, 0, 0, &end));
  tn_stream* s = core::current_stream(cuda());
  run();
  std::vector<double> took;
  for (int k = 0; k < 5; ++k) {
    double ms = 0;
    core::check_device(cuda(), "event_record", a.event_record(a.context, 0, begin, s));
    for (int i = 0; i < times; ++i) run();
    core::check_device(cuda(), "event_record", a.event_record(a.context, 0, end, s));
    core::check_device(cuda(), "event_elapsed", a.event_elapsed(a.context, 0, begin, end, &ms));
    took.push_back(ms / times);
  }
  a.event_destroy(a.context, 0, begin);
  a.event_destroy(a.context, 0, end);
  std::sort(took.begin(), took.end());
  return took[2];
}

Tensor randn_on(IntArrayRef sizes, ScalarType dtype = kFloat) {
  return rand(sizes, TensorOptions(kFloat).device(kCUDA)).to(dtype);
}

void host_rows() {
  const Tensor a = ones({1}, kCUDA), b = ones({1}, kCUDA);
  for (int i = 0; i < 100; ++i) (void)a.add(b);
  wait();
  const int64_t times = at_most(10000);
  const double begin = now_us();
  for (int64_t i = 0; i < times; ++i) (void)a.add(b);
  const double took = now_us() - begin;
  wait();
  print("G1", "add of 1 element, host", took / static_cast<double>(times), "us");

  Tensor x = ones({1}, kCUDA);
  Graph g;
  g.capture_begin();
  Tensor y = x;
  for (int i = 0; i < 100; ++i) y = y.add(x);
  g.capture_end();
  g.replay();
  wait();
  const double from = now_us();
  const int64_t replays = at_most(200);
  for (int64_t i = 0; i < replays; ++i) g.replay();
  wait();
  print("G2", "replay of 100 captured ops", (now_us() - from) / static_cast<double>(replays), "us");
}

// Five operators in turn, and as one compiled program.
void fused_rows(const Tensor& a, const Tensor& b) {
  const auto five = [](const Tensor& x, const Tensor& y) {
    return x.mul(y).add(x).sub(y).relu().mul(0.5);
  };
  print("G3", "five ops in turn", device_ms(20, [&] { (void)five(a, b); }), "ms");
  const auto fused = compile(five);
  double longest = 0;  // the call that compiles: the first ones only record
  for (int call = 0; call < 5; ++call) {
    const double begin = now_us();
    (void)fused(a, b);
    wait();
    longest = std::max(longest, now_us() - begin);
  }
  print("G10", "compiling five ops", 1e-3 * longest, "ms");
  print("G3", "five ops compiled", device_ms(20, [&] { (void)fused(a, b); }), "ms");
  const Tensor x = ones({2}, kCUDA), y = ones({2}, kCUDA);
  for (int call = 0; call < 5; ++call) (void)fused(x, y);
  wait();
  const int64_t calls = at_most(1000);
  const double begin = now_us();
  for (int64_t i = 0; i < calls; ++i) (void)fused(x, y);
  const double took = now_us() - begin;
  wait();
  print("G1", "five ops compiled, host", took / static_cast<double>(calls), "us");
}

void memory_rows() {
  {
    const int64_t n = at_most(kGiB / 12);
    const Tensor a = ones({n}, kCUDA), b = ones({n}, kCUDA);
    Tensor out = empty_like(a);
    print("G3", "add, 1 GiB moved",
          12e-6 * static_cast<double>(n) / device_ms(20, [&] { add_out(out, a, b); }), "GB/s");
    fused_rows(a, b);
    for (const ScalarType dtype : {kHalf, kBFloat16}) {
      const Tensor c = a.to(dtype), d = b.to(dtype);
      Tensor to = empty_like(c);
      print("G3", core::join("add of ", toString(dtype), ", 0.5 GiB moved"),
            6e-6 * static_cast<double>(n) / device_ms(20, [&] { add_out(to, c, d); }), "GB/s");
    }
  }
  const int64_t side = at_most(8192);
  const Tensor x = randn_on({side, side}), w = ones({side}, kCUDA), b = zeros({side}, kCUDA);
  const double once = 4e-6 * static_cast<double>(side * side);
  print("G4", "sum over rows, 8192^2", once / device_ms(20, [&] { (void)x.sum(1); }), "GB/s");
  print("G4", "sum of all, 8192^2", once / device_ms(20, [&] { (void)x.sum(); }), "GB/s");
  print("G4", "softmax, 8192^2", 2 * once / device_ms(20, [&] { (void)softmax(x, 1); }), "GB/s");
  print("G4", "layer_norm, 8192^2",
        2 * once / device_ms(20, [&] { (void)layer_norm(x, {side}, w, b); }), "GB/s");
  const int64_t rows = at_most(100000);
  const Tensor table = randn_on({rows, 256});
  const Tensor index = arange(at_most(200000), kLong).mul(7919).remainder(rows).to(kCUDA);
  print("G9", "200,000 checked rows of 256",
        device_ms(20, [&] { (void)index_select(table, 0, index); }), "ms");
}

// 16 elements per row at random columns, and four million elements with some duplicates; results
// are not checked.
constexpr int64_t kRows = 1 << 20, kEach = 16, kWide = 64, kMany = 4 * kRows;
const char kProduct[] = "sparse 2^20 rows of 16 x 64", kCoalesce[] = "coalesce of 2^22";

void sparse_rows() {
  const TensorOptions whole = TensorOptions(kLong).device(kCUDA);
  const int64_t rows = at_most(kRows), n = at_most(kMany);
  const Tensor row = arange(rows * kEach, whole).div(kEach, "floor"),
               column = randint(0, rows, {rows * kEach}, whole);
  const Tensor t = _sparse_coo_tensor_unsafe(stack({row, column}), randn_on({rows * kEach}),
                                             {rows, rows}, {}, true);
  const Tensor x = randn_on({rows, kWide});
  print("G8", kProduct, device_ms(5, [&] { (void)t.mm(x); }), "ms");
  const Tensor at = stack({randint(0, rows, {n}, whole), randint(0, 4, {n}, whole)});
  const Tensor many = _sparse_coo_tensor_unsafe(at, randn_on({n}), {rows, 4}, {}, false);
  print("G8", kCoalesce, device_ms(5, [&] { (void)many.coalesce(); }), "ms");
}

// Seven elements are moved per parameter: it and two moments read and written, and the gradient
// read.
void optimizer_rows() {
  for (const auto& [count, whole] : {std::pair<int, int64_t>{50, 10000}, {50, 1 << 20}}) {
    const int64_t n = at_most(whole);
    std::vector<Tensor> params;
    for (int k = 0; k < count; ++k) {
      params.push_back(randn_on({n}).requires_grad_(true));
      params.back().mutable_grad() = randn_on({n});
    }
    optim::Adam adam(params, optim::AdamOptions(1e-3));
    const double ms = device_ms(20, [&] { adam.step(); });
    const std::string row = core::join("step of Adam, ", count, " x ", whole);
    if (whole < 1 << 20)
      print("G12", row, ms, "ms");
    else
      print("G12", row, 7e-6 * 4 * count * static_cast<double>(n) / ms, "GB/s");
  }
}

void product_rows() {
  setenv("TENON_CONV_BENCHMARK", "1", 0);  // as peer.py sets for torch
  for (const auto& [dtype, _] : kTypes) {
    for (const Product& whole : kProducts) {
      const Product p = shrunk(whole);
      const Tensor a = randn_on({p.batch, p.m, p.k}, dtype),
                   b = randn_on({p.batch, p.k, p.n}, dtype);
      const double ms = device_ms(5, [&] { (void)(p.batch == 1 ? mm(a[0], b[0]) : bmm(a, b)); });
      print("G5", row_of(p, dtype), teraflops(p, ms), "TFLOP/s");
    }
  }
  for (const Convolution& whole : kConvolutions) {
    const Convolution c = shrunk(whole);
    Tensor x = randn_on({c.images, c.channels, c.side, c.side}).requires_grad_(),
           w = randn_on({c.channels, c.channels, c.kernel, c.kernel}).requires_grad_();
    const Tensor grad = randn_on({c.images, c.channels, c.side, c.side});
    const double ms = device_ms(3, [&] {
      x.mutable_grad() = w.mutable_grad() = Tensor();
      conv2d(x, w, {}, 1, c.kernel / 2).backward(grad);
    });
    print("G6", row_of(c), ms, "ms");
  }
}

void allocator_row() {
  std::mt19937 random(7);
  std::vector<Tensor> alive(64);
  const auto step = [&] {
    alive[random() % 64] =
        empty({1 + static_cast<int64_t>(random() % (4 << 20))}, TensorOptions(kByte).device(kCUDA));
  };
  const int64_t steps = at_most(100000);
  for (int64_t i = 0; i < steps / 5; ++i) step();
  const auto before = core::memory_stats(cuda());
  const double begin = now_us();
  for (int64_t i = 0; i < steps; ++i) step();
  const double took = now_us() - begin;
  const auto after = core::memory_stats(cuda());
  print("G7", "empty and free, random sizes", took / static_cast<double>(2 * steps), "us");
  print("G7", "calls of the driver in 100,000",
        static_cast<double>(after.device_allocations - before.device_allocations), "");
  print("G7", "reserved / peak",
        static_cast<double>(after.reserved_peak) / static_cast<double>(after.allocated_peak), "");
}

void overlap_row() {
  const tn_device_api& a = api();
  const int64_t side = at_most(4096), n = at_most(64 << 20);
  const Tensor x = randn_on({side, side}),
               host = empty({n}, TensorOptions(kFloat).pinned_memory(true));
  Tensor there = empty({n}, kCUDA);
  const auto multiply = [&] {
    for (int i = 0; i < 8; ++i) (void)mm(x, x);
  };
  tn_stream* s = nullptr;
  core::check_device(cuda(), "stream_create", a.stream_create(a.context, 0, 0, &s));
  const auto timed = [&](bool compute, bool copies) {
    wait();
    const double begin = now_us();
    if (compute) multiply();
    if (copies) {
      core::set_current_stream(cuda(), s);
      there.copy_(host, true);
      core::set_current_stream(cuda(), nullptr);
    }
    wait();
    return now_us() - begin;
  };
  const auto shortest = [&](bool compute, bool copies) {
    double best = timed(compute, copies);
    for (int i = 0; i < 4; ++i) best = std::min(best, timed(compute, copies));
    return best;
  };
  const double compute = shortest(true, false), copy = shortest(false, true),
               both = shortest(true, true);
  a.stream_destroy(a.context, 0, s);
  print("G11", "pinned copy to the device", 4e-3 * static_cast<double>(n) / copy, "GB/s");
  print("G11", "overlap with products", 100 * (compute + copy - both) / std::min(compute, copy),
        "%");
}

// A negative value means that the measurement failed.
void print_bound(const char* id, const std::string& row, double value, const char* unit) {
  if (value < 0)
    std::printf("failed: the lower bound of %s, %s\n", id, row.c_str());
  else
    print(id, row, value, unit);
}

void lower_bounds() {
  const double copy = tenon_bound_copy_gb_s(at_most(kGiB));
  print_bound("G1", "add of 1 element, host",
              tenon_bound_launch_us(static_cast<int>(at_most(10000))), "us");
  print_bound("G2", "replay of 100 captured ops",
              tenon_bound_graph_us(100, static_cast<int>(at_most(200))), "us");
  for (const char* row :
       {"add, 1 GiB moved", "add of Half, 0.5 GiB moved", "add of BFloat16, 0.5 GiB moved"})
    print_bound("G3", row, copy, "GB/s");
  for (const char* row :
       {"sum over rows, 8192^2", "sum of all, 8192^2", "softmax, 8192^2", "layer_norm, 8192^2"}) {
    print_bound("G4", row, copy, "GB/s");
  }
  print_bound("G12", "step of Adam, 50 x 1048576", copy, "GB/s");
  print_bound("G3", "five ops compiled", 12e-6 * static_cast<double>(at_most(kGiB / 12)) / copy,
              "ms");
  print_bound("G9", "200,000 checked rows of 256",
              2e-6 * static_cast<double>(at_most(200000)) * 256 * 4 / copy, "ms");
  print_bound("G11", "pinned copy to the device", tenon_bound_pinned_gb_s(at_most(256 << 20)),
              "GB/s");
  for (const auto& [dtype, type] : kTypes) {
    for (const Product& whole : kProducts) {
      const Product p = shrunk(whole);
      const double ms = tenon_bound_matmul_ms(type, p.batch, p.m, p.k, p.n);
      print_bound("G5", row_of(p, dtype), ms <= 0 ? -1 : teraflops(p, ms), "TFLOP/s");
    }
  }
  for (const Convolution& whole : kConvolutions) {
    const Convolution c = shrunk(whole);
    print_bound("G6", row_of(c), tenon_bound_conv_ms(c.images, c.channels, c.side, c.kernel), "ms");
  }
  // Bytes of the selected rows, elements and results; for coalesce, of both tensors.
  const int64_t rows = at_most(kRows), many = at_most(kMany);
  const double product =
      static_cast<double>(rows * kEach * (4 * kWide + 20) + rows * kWide * 4) * 1e-6;
  print_bound("G8", kProduct, product / copy, "ms");
  if (g_max == kGiB) {  // opened by name: its toolkit may differ from the one of a --small run
    print_bound("G8", core::join(kProduct, ", cuSPARSE"),
                tenon_bound_cusparse_ms(rows, kEach, kWide), "ms");
  }
  print_bound("G8", kCoalesce, static_cast<double>(many) * 40e-6 / copy, "ms");
}

int measure(const std::string& what) {
  if (tenon_bound_devices() == 0) {
    std::puts("no device");
    return 0;
  }
  if (what == "--lower-bounds") {
    lower_bounds();
  } else if (what == "--first-bound") {
    print_bound("G10", "first op of a process", tenon_bound_first_ms(), "ms");
  } else if (what == "--first") {
    const double begin = now_us();
    const Tensor x = ones({1}, kCUDA), y = x.add(x);
    wait();
    print("G10", "first op of a process", 1e-3 * (now_us() - begin), "ms");
  } else {
    // A row that fails is reported, and the next ones are measured.
    void (*const groups[])() = {host_rows,    memory_rows,   sparse_rows, optimizer_rows,
                                product_rows, allocator_row, overlap_row};
    for (auto group : groups) {
      try {
        group();
      } catch (const std::exception& e) {
        std::printf("failed: %s\n", e.what());
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string what;
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], "--small") == 0)
        g_max = 6;
      else
        what = argv[i];
    }
    return measure(what);
  } catch (const std::exception& e) {
    std::printf("failed: %s\n", e.what());
    return 1;
  }
}
