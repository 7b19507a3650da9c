// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The rows of a GPU: "id<TAB>row<TAB>value<TAB>unit", ours or the device's own (--floors). peer.py prints libtorch's.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "plugin_cuda/floors/floors.h"
#include "tenon/core/allocator.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

int slot() { return core::usable_slot(kCUDA); }
const tn_device_api& api() { return *core::device_entry(slot()).api; }
void wait() { core::synchronize(slot(), 0); }

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
  core::check_device(slot(), 0, "event_create", a.event_create(a.context, 0, 0, &begin));
  core::check_device(slot(), 0, "event_create", a.event_create(a.context, 0, 0, &end));
  tn_stream* s = core::current_stream(slot(), 0);
  run();
  std::vector<double> took;
  for (int k = 0; k < 5; ++k) {
    double ms = 0;
    core::check_device(slot(), 0, "event_record", a.event_record(a.context, 0, begin, s));
    for (int i = 0; i < times; ++i) run();
    core::check_device(slot(), 0, "event_record", a.event_record(a.context, 0, end, s));
    core::check_device(slot(), 0, "event_elapsed", a.event_elapsed(a.context, 0, begin, end, &ms));
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
  const double begin = now_us();
  for (int i = 0; i < 10000; ++i) (void)a.add(b);
  const double took = now_us() - begin;
  wait();
  print("G1", "add of 1 element, host", took / 10000, "us");

  Tensor x = ones({1}, kCUDA);
  Graph g;
  g.capture_begin();
  Tensor y = x;
  for (int i = 0; i < 100; ++i) y = y.add(x);
  g.capture_end();
  g.replay();
  wait();
  const double from = now_us();
  for (int i = 0; i < 200; ++i) g.replay();
  wait();
  print("G2", "replay of 100 captured ops", (now_us() - from) / 200, "us");
}

void memory_rows() {
  {
    const Tensor a = ones({kGiB / 12}, kCUDA), b = ones({kGiB / 12}, kCUDA);
    Tensor out = empty_like(a);
    print("G3", "add, 1 GiB moved", kGiB * 1e-6 / device_ms(20, [&] { add_out(out, a, b); }), "GB/s");
  }
  const Tensor x = randn_on({8192, 8192}), w = ones({8192}, kCUDA), b = zeros({8192}, kCUDA);
  const double once = 8192. * 8192 * 4 * 1e-6;
  print("G4", "sum over rows, 8192^2", once / device_ms(20, [&] { (void)x.sum(1); }), "GB/s");
  print("G4", "sum of all, 8192^2", once / device_ms(20, [&] { (void)x.sum(); }), "GB/s");
  print("G4", "softmax, 8192^2", 2 * once / device_ms(20, [&] { (void)softmax(x, 1); }), "GB/s");
  print("G4", "layer_norm, 8192^2", 2 * once / device_ms(20, [&] { (void)layer_norm(x, {8192}, w, b); }), "GB/s");
  const Tensor table = randn_on({100000, 256});
  const Tensor index = arange(200000, kLong).mul(7919).remainder(100000).to(kCUDA);
  print("G9", "200,000 checked rows of 256", device_ms(20, [&] { (void)index_select(table, 0, index); }), "ms");
}

// 16 elements a row anywhere, and four million elements of which some meet; neither is looked at.
constexpr int64_t kRows = 1 << 20, kEach = 16, kWide = 64, kMany = 4 * kRows;
const char kProduct[] = "sparse 2^20 rows of 16 x 64", kCoalesce[] = "coalesce of 2^22";

void sparse_rows() {
  const TensorOptions whole = TensorOptions(kLong).device(kCUDA);
  const Tensor row = arange(kRows * kEach, whole).div(kEach, "floor"),
               column = randint(0, kRows, {kRows * kEach}, whole);
  const Tensor t = _sparse_coo_tensor_unsafe(stack({row, column}), randn_on({kRows * kEach}), {kRows, kRows}, {}, true);
  const Tensor x = randn_on({kRows, kWide});
  print("G8", kProduct, device_ms(5, [&] { (void)t.mm(x); }), "ms");
  const Tensor at = stack({randint(0, kRows, {kMany}, whole), randint(0, 4, {kMany}, whole)});
  const Tensor many = _sparse_coo_tensor_unsafe(at, randn_on({kMany}), {kRows, 4}, {}, false);
  print("G8", kCoalesce, device_ms(5, [&] { (void)many.coalesce(); }), "ms");
}

// Seven elements go past for each parameter: it and two moments both ways, and the gradient.
void optimizer_rows() {
  for (const auto& [count, n] : {std::pair<int, int64_t>{50, 10000}, {50, 1 << 20}}) {
    std::vector<Tensor> params;
    for (int k = 0; k < count; ++k) {
      params.push_back(randn_on({n}).requires_grad_(true));
      params.back().mutable_grad() = randn_on({n});
    }
    optim::Adam adam(params, optim::AdamOptions(1e-3));
    const double ms = device_ms(20, [&] { adam.step(); });
    const std::string row = core::join("step of Adam, ", count, " x ", n);
    if (n < 1 << 20)
      print("G12", row, ms, "ms");
    else
      print("G12", row, 7e-6 * 4 * count * static_cast<double>(n) / ms, "GB/s");
  }
}

void product_rows() {
  setenv("TENON_CONV_BENCHMARK", "1", 0);  // as peer.py has torch do
  struct Shape {
    const char* name;
    int64_t batch, m, k, n;
  };
  for (ScalarType dtype : {kBFloat16, kHalf, kFloat}) {
    for (const Shape& s : {Shape{"8192^3", 1, 8192, 8192, 8192}, Shape{"64 x 1024^3", 64, 1024, 1024, 1024},
                           Shape{"8192^2 x 16", 1, 8192, 8192, 16}}) {
      const Tensor a = randn_on({s.batch, s.m, s.k}, dtype), b = randn_on({s.batch, s.k, s.n}, dtype);
      const double ms = device_ms(5, [&] { (void)(s.batch == 1 ? mm(a[0], b[0]) : bmm(a, b)); });
      print("G5", core::join("matmul ", dtype_name(dtype), " ", s.name),
            2e-9 * static_cast<double>(s.batch * s.m * s.k * s.n) / ms, "TFLOP/s");
    }
  }
  for (const Shape& s : {Shape{"64 x 56^2, 3x3", 64, 64, 56, 3}, Shape{"256 x 14^2, 3x3", 64, 256, 14, 3},
                         Shape{"512 x 7^2, 1x1", 64, 512, 7, 1}}) {
    Tensor x = randn_on({s.batch, s.m, s.k, s.k}).requires_grad_(), w = randn_on({s.m, s.m, s.n, s.n}).requires_grad_();
    const double ms = device_ms(3, [&] {
      x.mutable_grad() = w.mutable_grad() = Tensor();
      conv2d(x, w, {}, 1, s.n / 2).sum().backward();
    });
    print("G6", core::join("conv forward and backward, ", s.name), ms, "ms");
  }
}

void allocator_row() {
  std::mt19937 random(7);
  std::vector<Tensor> alive(64);
  const auto step = [&] {
    alive[random() % 64] = empty({1 + static_cast<int64_t>(random() % (4 << 20))}, TensorOptions(kByte).device(kCUDA));
  };
  for (int i = 0; i < 20000; ++i) step();
  const auto before = core::memory_stats(slot(), 0);
  const double begin = now_us();
  for (int i = 0; i < 100000; ++i) step();
  const double took = now_us() - begin;
  const auto after = core::memory_stats(slot(), 0);
  print("G7", "empty and free, random sizes", took / 200000, "us");
  print("G7", "calls of the driver in 100,000",
        static_cast<double>(after.device_allocations - before.device_allocations), "");
  print("G7", "reserved / peak", static_cast<double>(after.reserved_peak) / static_cast<double>(after.allocated_peak),
        "");
}

void overlap_row() {
  const tn_device_api& a = api();
  const Tensor x = randn_on({4096, 4096}), host = empty({64 << 20}, TensorOptions(kFloat).pinned_memory(true));
  Tensor there = empty({64 << 20}, kCUDA);
  const auto multiply = [&] {
    for (int i = 0; i < 8; ++i) (void)mm(x, x);
  };
  const auto timed = [&](bool compute, bool copies) {
    tn_stream* s = nullptr;
    core::check_device(slot(), 0, "stream_create", a.stream_create(a.context, 0, 0, &s));
    wait();
    const double begin = now_us();
    if (compute) multiply();
    if (copies) {
      core::set_current_stream(slot(), 0, s);
      there.copy_(host, true);
      core::set_current_stream(slot(), 0, nullptr);
    }
    wait();
    const double took = now_us() - begin;
    a.stream_destroy(a.context, 0, s);
    return took;
  };
  timed(true, true);
  const double compute = timed(true, false), copy = timed(false, true), both = timed(true, true);
  print("G11", "pinned copy to the device", 4 * 64 * 1.048576 * 1e3 / copy, "GB/s");
  print("G11", "overlap with products", 100 * (compute + copy - both) / std::min(compute, copy), "%");
}

void floors() {
  const double copy = tenon_floor_copy_gb_s(kGiB);
  print("G1", "add of 1 element, host", tenon_floor_launch_us(10000), "us");
  print("G2", "replay of 100 captured ops", tenon_floor_graph_us(100, 200), "us");
  print("G3", "add, 1 GiB moved", copy, "GB/s");
  for (const char* row : {"sum over rows, 8192^2", "sum of all, 8192^2", "softmax, 8192^2", "layer_norm, 8192^2"}) {
    print("G4", row, copy, "GB/s");
  }
  print("G12", "step of Adam, 50 x 1048576", copy, "GB/s");
  print("G9", "200,000 checked rows of 256", tenon_floor_gather_ms(100000, 256, 200000), "ms");
  // Rows that elements pick, elements and results; of coalesce, both tensors.
  const double product = static_cast<double>(kRows * kEach * (4 * kWide + 20) + kRows * kWide * 4) * 1e-6;
  print("G8", kProduct, product / copy, "ms");
  print("G8", core::join(kProduct, ", cuSPARSE"), tenon_floor_cusparse_ms(kRows, kEach, kWide), "ms");
  print("G8", kCoalesce, static_cast<double>(kMany) * 40e-6 / copy, "ms");
  print("G11", "pinned copy to the device", tenon_floor_pinned_gb_s(256 << 20), "GB/s");
}

int measure(const std::string& what) {
  if (tenon_floor_devices() == 0) {
    std::puts("no device");
    return 0;
  }
  if (what == "--floors") {
    floors();
  } else if (what == "--first-floor") {
    print("G10", "first op of a process", tenon_floor_first_ms(), "ms");
  } else if (what == "--first") {
    const double begin = now_us();
    const Tensor x = ones({1}, kCUDA), y = x.add(x);
    wait();
    print("G10", "first op of a process", 1e-3 * (now_us() - begin), "ms");
  } else {
    // A row that fails is told, and the next ones are measured.
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
    return measure(argc > 1 ? argv[1] : "");
  } catch (const std::exception& e) {
    std::printf("failed: %s\n", e.what());
    return 1;
  }
}
