// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/onednn/onednn.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <omp.h>

#include <string>

namespace tenon::cpu::onednn {
namespace {

// Virtual machines may offer AMX without describing its tiles (leaf 0x1D empty); oneDNN would then
// load an invalid palette and raise SIGILL.
bool amx_is_broken() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const bool offered = d & (1u << 24);  // AMX-TILE
  if (!offered) return false;
  if (!__get_cpuid_count(0x1d, 1, &a, &b, &c, &d)) return true;
  return a == 0 || b == 0;
#else
  return false;
#endif
}

struct Library {
  bool capped = amx_is_broken();
  dnnl::engine engine;
  std::string text;

  Library() {
    if (capped) dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16);
    engine = dnnl::engine(dnnl::engine::kind::cpu, 0);
    const dnnl_version_t* v = dnnl_version();
    text = "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
           std::to_string(v->patch);
    if (capped) text += ", AMX off: the processor does not describe its tiles";
  }
};

Library& library() {
  static Library l;
  return l;
}

}  // namespace

namespace {
struct Threads {
  Threads() { omp_set_num_threads(1); }  // for this thread only: core's pool provides parallelism
};
struct Stream {
  dnnl::stream stream{engine()};
};
}  // namespace

const dnnl::engine& engine() {
  (void)of_this_thread<Threads>();
  return library().engine;
}

dnnl::stream& stream() { return of_this_thread<Stream>().stream; }

const char* description() { return library().text.c_str(); }

namespace {
bool includes(dnnl::cpu_isa wanted) {
  engine();
  // Each set has the bits of the sets that it includes.
  const auto bits = [](dnnl::cpu_isa isa) { return static_cast<unsigned>(isa); };
  return (bits(dnnl::get_effective_cpu_isa()) & bits(wanted)) == bits(wanted);
}
}  // namespace

bool native_bf16() {
  static const bool native = includes(dnnl::cpu_isa::avx512_core_bf16);
  return native;
}
bool native_int8() {
  static const bool native = includes(dnnl::cpu_isa::avx512_core_vnni);
  return native;
}

dnnl::memory::data_type data_type(int code, int bits) {
  using D = dnnl::memory::data_type;
  if (code == 2 && bits == 32) return D::f32;
  if (code == 4 && bits == 16) return D::bf16;
  if (code == 0 && bits == 8) return D::s8;
  if (code == 1 && bits == 8) return D::u8;
  return D::undef;
}

namespace {
struct Reorder {
  dnnl::reorder primitive;
  dnnl::memory::desc from, to;
};
}  // namespace

void reorder(const dnnl::memory::desc& from, const void* src, const dnnl::memory::desc& to,
             void* dst) {
  Key key;
  key.reserve(64);
  append_layout(key, from);
  append_layout(key, to);
  Reorder& r = Cache<Reorder>::local().get(key, [&] {
    const dnnl::reorder::primitive_desc pd(engine(), from, engine(), to);
    return Reorder{dnnl::reorder(pd), from, to};
  });
  r.primitive.execute(stream(), {{DNNL_ARG_FROM, wrap(from, src)}, {DNNL_ARG_TO, wrap(to, dst)}});
}

}  // namespace tenon::cpu::onednn
