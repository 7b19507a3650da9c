// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loads damaged archives of programs and files of torch.save. A finding is: a crash, a hang, an
// exception that is not the library's, much more memory than the file, and a tensor that reaches
// outside of its storage.
#include <malloc.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "damage.h"
#include "jit/run/plan.h"
#include "refused.h"
#include "tenon/jit.h"
#include "tenon/jit/pickle.h"
#include "tenon/ops.h"

namespace tenon::fuzz {
namespace {

// Bytes beyond what the process has after its start; the archives have some KB.
constexpr uint64_t kMemory = uint64_t{128} << 20;

std::vector<Archive> g_programs, g_saved;
std::string g_legacy;  // a file of torch.save before 1.6

std::vector<char> list(const std::string& bytes) { return {bytes.begin(), bytes.end()}; }

void read_files() {
  const std::filesystem::path folder = TENON_FUZZ_ARCHIVES;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const auto kind = file.path().extension();
    if (kind == ".pt" || kind == ".pt2") g_programs.push_back(Archive::read(file.path()));
  }
  g_saved.push_back(Archive::read(folder / "saved/zip.pt"));
  std::ifstream in(folder / "saved/legacy.pt", std::ios::binary);
  g_legacy.assign(std::istreambuf_iterator<char>(in), {});
  (void)pickle_load(list(g_saved[0].whole()));
  (void)pickle_load(list(g_legacy));
}

void prepare() {
  read_files();
  // Programs run while they are loaded (__setstate__), and may have loops without an end.
  jit::RunLimits limits;
  limits.instructions = 100000;
  limits.milliseconds = 5000;
  limits.call_depth = 200;
  jit::set_run_limits(limits);
  for (const Archive& a : g_programs) {
    std::stringstream in(a.whole());
    (void)jit::load(in);
  }
  mallopt(M_ARENA_MAX, 1);
  (void)ones({1 << 20}).sum();
  limit_address_space(kMemory);
}

std::string outside(const std::string& name, const Tensor& t) {
  if (t.numel() == 0) return "";
  __int128 last = t.storage_offset();
  for (int64_t d = 0; d < t.dim(); ++d) last += __int128{t.size(d) - 1} * t.stride(d);
  const auto bytes = t.unsafeGetTensorImpl()->storage->bytes;
  if ((last + 1) * static_cast<__int128>(elementSize(t.scalar_type())) > bytes)
    return "tensor '" + name + "' reaches outside of its storage";
  if (t.numel() < 10000) (void)t.to(kDouble).sum().item<double>();
  return "";
}

std::string use(const jit::Module& m) {
  std::string wrong;
  for (const auto& p : m.named_parameters()) wrong += outside(p.name, p.value);
  for (const auto& b : m.named_buffers()) wrong += outside(b.name, b.value);
  (void)m.dump_to_str();
  std::stringstream saved;
  try {
    m.save(saved);
  } catch (const Error&) {
    tally("loaded, not saved");
    return wrong;
  }
  (void)jit::load(saved);
  tally("loaded");
  return wrong;
}

std::string use(const IValue& v) {
  std::string wrong;
  if (v.isTensor()) wrong += outside("", v.toTensor());
  if (v.isGenericDict()) {
    for (const auto& [key, value] : v.toDictRef().items()) wrong += use(value);
  }
  return wrong;
}

std::string check_program(Random& r) {
  std::stringstream in(damaged(r.pick(g_programs), r));
  return use(jit::load(in));
}

std::string check_saved(Random& r) {
  const std::string bytes = r.chance(0.5) ? damaged(g_legacy, r) : damaged(r.pick(g_saved), r);
  const IValue value = pickle_load(list(bytes));
  const std::string wrong = use(value);
  try {
    (void)pickle_load(pickle_save(value));
    tally("loaded");
  } catch (const Error&) {
    tally("loaded, not saved");
  }
  return wrong;
}

std::string check(Random& r) {
  return unless_refused([&] { return r.chance(0.8) ? check_program(r) : check_saved(r); });
}

}  // namespace
}  // namespace tenon::fuzz

int main(int argc, char** argv) {
  return tenon::fuzz::run(
      argc, argv,
      {"archives",
       "Loads damaged archives of programs and files of torch.save, and saves them again.",
       tenon::fuzz::check, tenon::fuzz::prepare});
}
