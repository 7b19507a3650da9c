// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// NN, OP and SP: messages about layers, optimizers and sparse tensors.
#include "tests/messages/table.h"

namespace tenon::messages {
namespace {

namespace F = nn::functional;

void name_a_buffer(const char* name) {
  struct Named : nn::Module {
    using nn::Module::register_buffer;
  } module;
  module.register_buffer("taken", ones({1}));
  module.register_buffer(name, ones({1}));
}

void load_another() {
  nn::Linear small(1, 2), large(3, 2);
  const auto entries = large->named_parameters();
  OrderedDict<std::string, Tensor> state;
  state.insert("weight", entries["weight"]);
  state.insert("other", entries["bias"]);
  small->load_state_dict(state);
}

Tensor uncoalesced() { return sparse_coo_tensor(tensor({{0, 0}}), tensor({1., 2.}), {3}); }

const Row rows[] = {
    error<ValueError>("NN01", [] { name_a_buffer("a.b"); }, {"name may not contain '.'", "a.b"}),
    error<ValueError>("NN02", [] { name_a_buffer(""); }, {"name may not be empty"}),
    error<ValueError>("NN03", [] { name_a_buffer("taken"); }, {"'taken'", "already exists"}),
    error<ValueError>("NN04", load_another, {"missing", "unexpected", "bias", "other", "shape"}),
    error<ValueError>("NN05",
                      [] {
                        nn::BatchNorm1d(3)->forward(ones({1, 3}));
                      },
                      {"batch_norm: ", "more than one value per channel", "[1, 3]"}),
    error<ValueError>("NN06",
                      [] {
                        nn::BatchNorm2d(3)->forward(ones({1, 3}));
                      },
                      {"expected 4", "got 2"}),
    error<ValueError>("NN07",
                      [] {
                        conv2d(ones({1, 3, 4, 4}), ones({2, 4, 3, 3}));
                      },
                      {"groups=1", "[2, 4, 3, 3]", "expected input channels 4", "got 3"}),
    error<ValueError>("NN08",
                      [] {
                        conv2d(ones({1, 3, 4, 4}), ones({2, 3, 3, 3}), {}, {1}, IntArrayRef({-1}));
                      },
                      {"negative padding"}),
    error<ValueError>("NN09", [] { F::dropout(ones({2}), F::DropoutFuncOptions().p(1.5)); },
                      {"dropout probability", "1.5"}),
    error<ValueError>("NN10", [] { glu(ones({3})); }, {"glu", "even", "3"}),
    error<ValueError>("NN10_of_a_scalar", [] { glu(tensor(1.)); }, {"scalars", "halved"}),
    error<ValueError>("NN10_functional", [] { F::glu(tensor(1.)); }, {"scalars", "halved"}),
    error<ValueError>("NN11",
                      [] {
                        F::interpolate(ones({1, 1, 2}));
                      },
                      {"exactly one of size and scale_factor"}),
    error<ValueError>(
        "NN12",
        [] {
          F::interpolate(
              ones({1, 1, 2}),
              F::InterpolateFuncOptions().size(std::vector<int64_t>{4, 4}).mode(kBilinear));
        },
        {"needs", "3-D"}),
    error<ValueError>("NN13",
                      [] {
                        F::embedding_bag(tensor({0, 1}), ones({3, 2}),
                                         F::EmbeddingBagFuncOptions().offsets(tensor({1})));
                      },
                      {"offsets"}),
    error<ValueError>("NN14",
                      [] {
                        F::nll_loss(ones({3, 2}), tensor({0, 1}));
                      },
                      {"batch size", "3", "2"}),
    warning("NN15",
            [] {
              F::softmax(ones({2, 3}));
            },
            {"the softmax dimension was chosen implicitly", "pass dim"}),
    error<ValueError>("NN16", [] { nn::utils::remove_weight_norm(nn::Linear(2, 2), "wait"); },
                      {"no weight_norm named 'wait' on tenon::nn::LinearImpl"}),
    error<Error>("OP01_non_leaf",
                 [] {
                   const Tensor x = ones({1}, requires_grad()) * 2;
                   optim::SGD(std::vector<Tensor>{x}, 0.1);
                 },
                 {"non-leaf"}),
    error<Error>("OP01_twice",
                 [] {
                   const Tensor x = ones({1}, requires_grad());
                   optim::SGD sgd(std::vector<Tensor>{x}, 0.1);
                   sgd.add_param_group(optim::OptimizerParamGroup({x}));
                 },
                 {"more than one", "group"}),
    error<ValueError>("OP02", [] { optim::SGD({ones({1}, requires_grad())}, -1.); },
                      {"nvalid", "-1"}),
    error<ValueError>("OP03",
                      [] {
                        const Tensor x = ones({3}, requires_grad());
                        optim::Adam adam({x}, 0.1);
                        x.mutable_grad() = uncoalesced();
                        adam.step();
                      },
                      {"does not support sparse gradients", "SparseAdam"}),
    error<ValueError>("SP01", [] { sparse_coo_tensor(tensor({{5}}), tensor({1.}), {3}); },
                      {"size is inconsistent", "5"}),
    error<ValueError>("SP02",
                      [] {
                        sparse_coo_tensor(tensor({{1}}), ones({1, 2}), {3});
                      },
                      {"values"}),
    error<ValueError>("SP03", [] { uncoalesced().indices(); }, {"coalesce"}),
    error<ValueError>("SP04", [] { uncoalesced().pow(0); }, {"zero", "non-zero"}),
};

INSTANTIATE_TEST_SUITE_P(Modules, Messages, testing::ValuesIn(rows), name_of);

}  // namespace
}  // namespace tenon::messages
