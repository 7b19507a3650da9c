// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>

#include "hostile.h"
#include "tenon/tenon.h"

namespace tenon::fuzz {

int64_t odd_int(Random& r) {
  const int64_t large[] = {INT64_MAX,
                           INT64_MIN,
                           INT64_MAX - 1,
                           INT64_MIN + 1,
                           int64_t{1} << 62,
                           -(int64_t{1} << 62),
                           (int64_t{1} << 62) + 1,
                           int64_t{1} << 61,
                           int64_t{1} << 40,
                           -(int64_t{1} << 40),
                           int64_t{1} << 32,
                           (int64_t{1} << 32) + 1,
                           int64_t{1} << 31,
                           (int64_t{1} << 31) - 1,
                           -(int64_t{1} << 31),
                           -(int64_t{1} << 31) - 1};
  if (r.chance(0.5)) return large[r.below(std::size(large))];
  return r.chance(0.7) ? r.between(-3, 8)
                       : r.pick({-65, -64, 63, 64, 65, 100, 255, 256, -128, 1000});
}

double odd_real(Random& r) {
  if (r.chance(0.4)) return r.real(-3, 3);
  return r.pick({0.0,    -0.0,   1.0,     -1.0,     0.5,       2.0,         1e308,
                 -1e308, 1e-308, 5e-324,  1e39,     -1e39,     65520.0,     1e19,
                 -1e19,  0x1p63, -0x1p63, HUGE_VAL, -HUGE_VAL, std::nan("")});
}

std::string odd_text(Random& r) {
  switch (r.below(8)) {
    case 0:
      return "";
    case 1:
      return std::string(r.pick({100u, 70000u}), r.pick({'a', ',', '\xff', '(', '-'}));
    case 2:
      return "\xff\xfe\x80";
    case 3:
      return std::string("sum\0mean", 8);
    case 4:
      return "%s%n%d";
    default:
      return r.pick({"sum",     "mean",      "prod",     "amax",      "none",   "floor", "trunc",
                     "tanh",    "ij",        "xy",       "ij,jk->ik", "...i,i", "->",    "constant",
                     "reflect", "replicate", "circular", "valid",     "same",   "left",  "right",
                     "linear",  "reduced",   "complete", "fro",       "nuc",    "L",     "U"});
  }
}

std::string good_call() {
  const Tensor sum = tenon::ones({2, 3}) + 2;
  const Tensor product = tenon::ones({4, 5}).mm(tenon::ones({5, 6}));
  const bool right = (sum == 3).all().item<bool>() && (product == 5).all().item<bool>();
  return right ? "" : "the next good call gives wrong numbers";
}

void show(const std::string& call) {
  static const bool wanted = std::getenv("TENON_FUZZ_SHOW") != nullptr;
  if (wanted) std::fprintf(stderr, "%s\n", call.c_str());
}

namespace {

std::string check(Random& r) {
  std::string wrong;
  const uint64_t kind = r.below(10);
  if (kind == 0)
    wrong = call_client(r);
  else if (kind < 4)
    wrong = call_cpp(r);
  else
    wrong = call_c(r);
  if (wrong.empty() && r.chance(0.1)) wrong = good_call();
  return wrong;
}

// The memory that a call may allocate: beyond it the allocation fails, which must be an ordinary
// error. Added to what the process has mapped, which is terabytes under the address sanitizer.
void limit_memory() {
  constexpr rlim_t kBytes = rlim_t{2} << 30;
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most =
      static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + kBytes;
  const rlimit limit{most, most};
  setrlimit(RLIMIT_AS, &limit);
  (void)good_call();  // plugins are loaded
}

}  // namespace
}  // namespace tenon::fuzz

#ifdef __SANITIZE_ADDRESS__
// Its own end the process where there is no memory.
void* operator new(std::size_t n) {
  void* p = std::malloc(n);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif

int main(int argc, char** argv) {
  return tenon::fuzz::run(
      argc, argv,
      {"hostile",
       "Hostile calls through the C interface and through C++: none may crash, hang, fail "
       "other than by an Error that names its operator, or change an argument.",
       tenon::fuzz::check, tenon::fuzz::limit_memory, 60});
}
