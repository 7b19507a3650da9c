// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loads damaged files into everything that loads. A finding is: a crash, a hang, an exception that
// is not the library's, much more memory than the file, a tensor that reaches outside of its
// storage, and a target that a refused file has changed.
#include <malloc.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "file.h"
#include "tenon/data/datasets.h"
#include "tenon/data/samplers.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tenon/serialize.h"

namespace tenon::fuzz {
namespace {

// Bytes beyond what the process has after its start; files have some KB.
constexpr uint64_t kMemory = uint64_t{32} << 20;

template <class T>
std::string saved(const T& value) {
  std::stringstream out;
  save(value, out);
  return out.str();
}

// Everything that a file may be loaded into, in its state before.
struct Targets {
  nn::Sequential net{nn::Linear(3, 2), nn::BatchNorm1d(2)};
  std::unique_ptr<optim::Optimizer> adam, sgd;
  data::samplers::RandomSampler random{7};
  data::samplers::SequentialSampler sequential{7};
  data::samplers::DistributedRandomSampler distributed{7, 2, 0};

  Targets() {
    adam = std::make_unique<optim::Adam>(net->parameters(), optim::AdamOptions(0.25).amsgrad(true));
    sgd = std::make_unique<optim::SGD>(net->parameters(), optim::SGDOptions(0.25).momentum(0.5));
    for (const Tensor& p : net->parameters()) p.mutable_grad() = ones_like(p);
    adam->step();
    sgd->step();
  }
};

std::unique_ptr<Targets> g_targets;
std::vector<std::string> g_good;  // files of each kind
std::string g_folder;

std::string good_tensors() {
  const Tensor x = arange(24, kFloat).view({2, 3, 4});
  std::vector<Tensor> all = {x.clone().permute({2, 0, 1}),
                             x[1],
                             x,
                             x.transpose(1, 2),
                             arange(3).expand({2, 3}),
                             ones({}, kBool),
                             empty({0, 3}),
                             ones({2}, requires_grad()),
                             eye(2, 3).to_sparse()};
  for (ScalarType t : core::kBuiltInDtypes) {
    all.push_back(arange(5).to(t));
  }
  return saved(all);
}

std::string good_values() {
  serialize::OutputArchive out, inner, none;
  inner.write("y", ones({2}));
  out.write("inner", inner);
  out.write("nothing", none);
  out.write("rate", IValue(std::vector<double>{0.1, INFINITY}));
  out.write("steps", IValue(std::vector<int64_t>{-1, 5}));
  out.write("name", IValue("a \"text\""));
  out.write("flag", IValue(true));
  out.write("list", IValue(std::vector<Tensor>{ones({2}), zeros({3})}));
  std::stringstream file;
  out.save_to(file);
  return file.str();
}

void prepare() {
  g_targets = std::make_unique<Targets>();
  const Targets& t = *g_targets;
  g_good = {saved(t.net),
            saved(*t.adam),
            saved(*t.sgd),
            saved(t.random),
            saved(t.sequential),
            saved(t.distributed),
            good_tensors(),
            good_values(),
            saved(std::vector<Tensor>()),
            saved(zeros({200, 200}, kByte).t())};
  // All threads start before the limit and share their memory. The transposed bytes above could
  // ask for a thousand times their size.
  mallopt(M_ARENA_MAX, 1);
  (void)ones({1 << 20}).sum();
  limit_address_space(kMemory);
}

std::string outside(const std::string& name, const Tensor& t) {
  if (t.layout() != kStrided)
    return outside(name + ".indices", t.component("indices")) +
           outside(name + ".values", t.component("values"));
  if (t.numel() == 0) return "";
  __int128 first = t.storage_offset(), last = first;
  for (int64_t d = 0; d < t.dim(); ++d)
    (t.stride(d) < 0 ? first : last) += __int128{t.size(d) - 1} * t.stride(d);
  const auto bytes = t.unsafeGetTensorImpl()->storage->bytes;
  if (first < 0 || (last + 1) * static_cast<__int128>(elementSize(t.scalar_type())) > bytes) {
    return "tensor '" + name + "' reaches outside of its storage";
  }
  if (t.numel() < 10000) (void)t.to(kDouble).sum().item<double>();
  return "";
}

// Reads all that an archive has.
std::string read_all(serialize::InputArchive& archive, const std::string& prefix, int depth) {
  std::string wrong;
  for (const std::string& key : archive.keys()) {
    Tensor tensor;
    IValue value;
    serialize::InputArchive nested;
    if (archive.try_read(key, tensor)) wrong += outside(prefix + key, tensor);
    (void)archive.try_read(key, value);
    if (depth < 50 && archive.try_read(key, nested))
      wrong += read_all(nested, prefix + key + ".", depth + 1);
  }
  return wrong;
}

void open_in_some_way(serialize::InputArchive& in, const std::string& bytes, Random& r) {
  switch (r.below(40)) {
    case 0: {
      const std::string name = g_folder + "/file";
      std::ofstream(name, std::ios::binary) << bytes;
      in.load_from(name);
      break;
    }
    case 1: {
      std::stringstream stream(bytes);
      in.load_from(stream);
      break;
    }
    case 2:
      in.load_from(
          [&](uint64_t at, void* to, std::size_t n) {
            n = at < bytes.size() ? std::min<std::size_t>(n, bytes.size() - at) : 0;
            std::memcpy(to, bytes.data() + at, n);
            return n;
          },
          [&] { return bytes.size(); });
      break;
    default:
      in.load_from(bytes.data(), bytes.size());
  }
}

// A refused load must leave the target as it was.
template <class T>
std::string into(const char* what, T& target, const std::string& bytes, Random& r) {
  const std::string before = saved(target);
  try {
    serialize::InputArchive in;
    open_in_some_way(in, bytes, r);
    in >> target;
    tally("loaded");
    // Restores the target for the next check.
    std::stringstream back(before);
    (void)saved(target);
    load(target, back);
  } catch (const OutOfMemoryError& e) {
    return std::string(what) + " asks for too much memory: " + e.what();
  } catch (const Error&) {
    tally("refused");
    if (saved(target) != before) return std::string("a refused file has changed the ") + what;
  }
  return "";
}

std::string into_nothing(const std::string& bytes, Random& r) {
  try {
    serialize::InputArchive in;
    open_in_some_way(in, bytes, r);
    tally("opened");
    return read_all(in, "", 0);
  } catch (const OutOfMemoryError& e) {
    return std::string("asks for too much memory: ") + e.what();
  } catch (const Error&) {
    tally("not opened");
  }
  return "";
}

std::string idx(uint32_t magic, std::vector<uint32_t> sizes) {
  std::string out;
  const auto word = [&](uint32_t v) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(v >> shift);
  };
  word(magic);
  std::size_t n = 1;
  for (uint32_t s : sizes) {
    word(s);
    n *= s;
  }
  return out + std::string(n, '\7');
}

std::string digits(Random& r) {
  const auto put = [&](const char* name, std::string bytes) {
    if (r.chance(0.6))
      bytes =
          r.chance(0.5) ? scramble(bytes, r) : scramble(bytes.substr(0, 8), r) + bytes.substr(8);
    std::ofstream(g_folder + name, std::ios::binary) << bytes;
  };
  put("/train-images-idx3-ubyte", idx(0x803, {3, 2, 4}));
  put("/train-labels-idx1-ubyte", idx(0x801, {3}));
  try {
    data::datasets::MNIST set(g_folder);
    tally("digits loaded");
    std::string wrong;
    for (std::size_t i = 0; i < *set.size(); ++i) {
      const auto example = set.get(i);
      wrong += outside("image", example.data) + outside("label", example.target);
    }
    return wrong;
  } catch (const OutOfMemoryError& e) {
    return std::string("MNIST asks for too much memory: ") + e.what();
  } catch (const Error&) {
    tally("digits refused");
  }
  return "";
}

std::string check(Random& r) {
  if (r.chance(0.03)) return digits(r);
  const bool invented = r.chance(0.4);
  const std::size_t kind = invented ? 6 : r.below(g_good.size());
  const std::string bytes = invented ? (r.chance(0.7) ? invent(r).whole() : damage(invent(r), r))
                                     : damage(File::split(g_good[kind]), r);
  Targets& t = *g_targets;
  switch (r.chance(0.8) ? kind : r.below(7)) {
    case 0:
      return into("module", t.net, bytes, r);
    case 1:
      return into("Adam", *t.adam, bytes, r);
    case 2:
      return into("SGD", *t.sgd, bytes, r);
    case 3:
      return into("RandomSampler", t.random, bytes, r);
    case 4:
      return into("SequentialSampler", t.sequential, bytes, r);
    case 5:
      return into("DistributedRandomSampler", t.distributed, bytes, r);
    default:
      return into_nothing(bytes, r);
  }
}

}  // namespace
}  // namespace tenon::fuzz

int main(int argc, char** argv) {
  std::string folder = std::filesystem::temp_directory_path() / "tenon_fuzz_files_XXXXXX";
  if (!mkdtemp(folder.data())) return std::perror("mkdtemp"), 2;
  tenon::fuzz::g_folder = folder;
  const int status = tenon::fuzz::run(argc, argv,
                                      {"files",
                                       "Loads damaged files: safetensors into archives, modules, "
                                       "optimizers and samplers, and idx files of digits.",
                                       tenon::fuzz::check, tenon::fuzz::prepare});
  std::filesystem::remove_all(folder);
  return status;
}
