// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// torchaudio's operators, and those of compressed layouts that torch_geometric names.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "tenon/jit.h"
#include "tenon/jit/export_program.h"
#include "tenon/tenon.h"
#include "tests/jit/formats/support.h"
#include "tests/support.h"

namespace tenon::jit {
namespace {

// y[i] = x[i] - 0.5 y[i - 1] in the first channel, x[i] + y[i - 1] - 0.25 y[i - 2] in the second.
TEST(JitAudio, FiltersTakeTheSamplesBefore) {
  const Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    a = torch.tensor([[0.0, 0.5, 1.0], [0.25, -1.0, 1.0]])
    out = torch.zeros([x.size(0), 2, x.size(2) + 2])
    return torch.ops.torchaudio._lfilter_core_loop(x, a, out)[:, :, 2:]
)");
  const Tensor x =
      tensor({1.0, 2.0, 3.0, 1.0, 0.0, -1.0, 2.0, 0.0, 0.0, 1.0, 1.0, 1.0}).view({2, 2, 3});
  const Tensor want =
      tensor({1.0, 1.5, 2.25, 1.0, 1.0, -0.25, 2.0, -1.0, 0.5, 1.0, 2.0, 2.75}).view({2, 2, 3});
  EXPECT_TRUE(allclose(m.forward({x}).toTensor(), want));
  const std::string path = core::join(testing::TempDir(), "/tenon_filter_", getpid(), ".pt2");
  export_program(m, {x}, path);
  EXPECT_TRUE(allclose(load(path).forward({x}).toTensor(), want));
  std::filesystem::remove(path);
  test::expect_words(test::text_of([&] {
                       (void)m.forward({ones({2, 3, 4})});
                     }),
                     {"_lfilter_core_loop: expected the sizes"});
}

TEST(JitAudio, OverdriveKeepsWhatItEndsWith) {
  const Module m = define(R"(
def forward(self, x: Tensor, loud: Tensor):
    before, last, out = torch.zeros([1]), torch.zeros([1]), torch.zeros_like(x)
    torch.ops.torchaudio._overdrive_core_loop(x, loud, before, last, out)
    return out, before, last
)");
  std::vector<Tensor> got;
  add_tensors(m.forward({tensor({{1.0, 2.0}}), tensor({{4.0, 6.0}})}), got);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_TRUE(allclose(got[0], tensor({{3.5, 5.485}})));
  EXPECT_TRUE(allclose(got[1], tensor({6.0})));
  EXPECT_TRUE(allclose(got[2], tensor({5.98})));
}

// Expected values: torchaudio 2.11. Equal labels have a blank between them; of equal paths it takes
// the one that leaves a state late.
TEST(JitAudio, LabelsAreAlignedToFrames) {
  const Module m = define(R"(
def forward(self, log_probs: Tensor, labels: Tensor, frames: Tensor, n: Tensor):
    path, scores = torch.ops.torchaudio.forced_align(log_probs, labels, frames, n, 0)
    return path, scores
)");
  const auto path_of = [&](const Tensor& log_probs, const Tensor& labels) {
    const Tensor frames = tensor({5}).to(kLong), n = tensor({labels.numel()}).to(kLong);
    std::vector<Tensor> got;
    add_tensors(m.forward({log_probs, labels.unsqueeze(0), frames, n}), got);
    EXPECT_TRUE(got.at(1).equal(log_probs));
    return got.at(0).squeeze(0);
  };
  const Tensor p =
      tensor({0.1, 0.6, 0.3, 0.2, 0.5, 0.3, 0.6, 0.2, 0.2, 0.2, 0.7, 0.1, 0.3, 0.1, 0.6})
          .view({1, 5, 3})
          .log();
  const auto ints = [](std::initializer_list<int64_t> v) {
    return tensor(std::vector<int64_t>(v));
  };
  EXPECT_TRUE(path_of(p, ints({1, 1, 2})).equal(ints({1, 1, 0, 1, 2})));
  EXPECT_TRUE(path_of(p, ints({2, 1})).equal(ints({2, 2, 0, 1, 0})));
  EXPECT_TRUE(path_of(zeros({1, 5, 3}), ints({2, 1})).equal(ints({2, 1, 1, 1, 1})));
  for (const auto& labels : {ints({1, 1, 1, 1}), ints({3}), ints({0})})
    test::expect_words(test::text_of([&] { (void)path_of(p, labels); }), {"forced_align: "});
}

TEST(JitCompressed, RowsAreCountedAndRepeated) {
  const Module m = define(R"(
def forward(self, rows: Tensor, columns: Tensor):
    starts = torch._convert_indices_from_coo_to_csr(rows, 5)
    narrow = torch._convert_indices_from_coo_to_csr(rows, 5, out_int32=True)
    return starts, narrow, torch._convert_indices_from_csr_to_coo(starts, columns)
)");
  const Tensor rows = tensor({0, 0, 2, 3, 3, 3}, kLong),
               columns = tensor({1, 4, 0, 2, 3, 4}, kLong);
  std::vector<Tensor> got;
  add_tensors(m.forward({rows, columns}), got);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_TRUE(got[0].equal(tensor({0, 2, 2, 3, 6, 6}, kLong)));
  EXPECT_TRUE(got[1].equal(tensor({0, 2, 2, 3, 6, 6}, kInt)));
  EXPECT_TRUE(got[2].equal(stack({rows, columns})));
}

// The branches of a module of graphs that dense tensors do not take.
TEST(JitCompressed, BranchesThatNameThemAreLoaded) {
  const Module m = define(R"(
def forward(self, x: Tensor, csr: bool):
    if csr:
        x = torch._sparse_mm(x.to_sparse_csr(), x, "sum") + x.crow_indices() + x.col_indices()
    return x
)");
  EXPECT_TRUE(m.forward({ones({2}), false}).toTensor().equal(ones({2})));
  test::expect_words(test::text_of([&] {
                       (void)m.forward({ones({2, 2}), true});
                     }),
                     {"aten::to_sparse_csr", "compressed sparse layouts", "not supported"});
}

// In the program that is written `repeat` becomes the primitive, which takes the same arguments.
TEST(JitPrimitives, CopiesLieAsTheirStridesSay) {
  const Module m = define("def forward(self, x: Tensor) -> Tensor:\n    return x.repeat([1, 2])\n");
  const std::string path = core::join(testing::TempDir(), "/tenon_strided_", getpid(), ".pt2");
  export_program(m, {ones({2, 3})}, path);
  const auto zip = formats::ZipReader::open(path);
  formats::ZipWriter out(zip->root().substr(0, zip->root().size() - 1));
  for (const auto& e : zip->entries()) {
    std::string content = zip->read(e);
    const std::string from = "aten.repeat.default", to = "prims.copy_strided.default";
    if (const auto at = content.find(from); at != std::string::npos)
      content.replace(at, from.size(), to);
    out.add(e.name.substr(zip->root().size()), content);
  }
  std::filesystem::remove(path);
  std::stringstream file(out.finish());
  const Tensor x = arange(6, kFloat).view({2, 3}), y = load(file).forward({x}).toTensor();
  EXPECT_TRUE(y.equal(x));
  EXPECT_EQ(y.strides(), (std::vector<int64_t>{1, 2}));
}

TEST(JitPrimitives, TensorsMayTakeThePlaceOfThoseOfTheirLayout) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    y = torch.zeros([2], dtype=torch.float64)
    return torch._has_compatible_shallow_copy_type(x, y), torch._has_compatible_shallow_copy_type(x, x.to_sparse())
)");
  const IValue out = m.forward({ones({3})});
  EXPECT_TRUE(out.toTupleRef().items[0].toBool());
  EXPECT_FALSE(out.toTupleRef().items[1].toBool());
}

}  // namespace
}  // namespace tenon::jit
