// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Classes of C++ that programs hold: those of custom_classes.cpp, and of the library that
// make_archives.py loads into torch.
#pragma once

#include <torch/custom_class.h>
#include <torch/script.h>

#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

// A stack of strings.
struct Stack : torch::CustomClassHolder {
  explicit Stack(std::vector<std::string> v) : items(std::move(v)) {}
  void push(std::string item) { items.push_back(std::move(item)); }
  std::string pop() {
    auto last = items.back();
    items.pop_back();
    return last;
  }
  int64_t size() const { return static_cast<int64_t>(items.size()); }
  c10::intrusive_ptr<Stack> clone() const { return c10::make_intrusive<Stack>(items); }
  void merge(const c10::intrusive_ptr<Stack>& other) {
    for (const auto& item : other->items) push(item);
  }
  std::vector<std::string> items;
};

// y = scale * x + bias, with a count of its calls.
struct Affine : torch::CustomClassHolder {
  Affine(double s, at::Tensor b) : scale(s), bias(std::move(b)) {}
  at::Tensor apply(const at::Tensor& x, int64_t times, bool with_bias) {
    ++calls;
    auto y = x;
    for (int64_t i = 0; i < times; ++i) y = y * scale;
    return with_bias ? y + bias : y;
  }
  double scale_of() const { return scale; }
  void set_scale(double s) { scale = s; }
  double scale;
  at::Tensor bias;
  int64_t calls = 0;
  std::string label = "affine";
};

inline at::Tensor apply_affine(const c10::intrusive_ptr<Affine>& a, const at::Tensor& x) {
  return a->apply(x, 1, true);
}
inline c10::intrusive_ptr<Affine> make_affine(double scale, const at::Tensor& bias) {
  return c10::make_intrusive<Affine>(scale, bias);
}

TORCH_LIBRARY(made_classes, m) {
  m.class_<Stack>("Stack")
      .def(torch::init<std::vector<std::string>>())
      .def("push", &Stack::push)
      .def("pop", &Stack::pop, "the last one")
      .def("size", &Stack::size)
      .def("clone", &Stack::clone)
      .def("merge", &Stack::merge)
      .def("counts",
           [](const c10::intrusive_ptr<Stack>& self) {
             std::unordered_map<std::string, int64_t> out;
             for (const auto& item : self->items) ++out[item];
             c10::Dict<std::string, int64_t> sorted;
             for (const auto& item : self->items) sorted.insert_or_assign(item, out.at(item));
             return sorted;
           })
      .def("ends",
           [](const c10::intrusive_ptr<Stack>& self) {
             return std::make_tuple(self->items.front(), self->items.back());
           })
      .def("first_or",
           [](const c10::intrusive_ptr<Stack>& self,
              std::optional<std::string> other) -> std::optional<std::string> {
             return self->items.empty() ? other : self->items.front();
           })
      .def("several",
           [](const c10::intrusive_ptr<Stack>& self, int64_t n) {
             return std::vector<c10::intrusive_ptr<Stack>>(static_cast<size_t>(n), self);
           })
      .def_static("of_two",
                  [](std::string a, std::string b) {
                    return c10::make_intrusive<Stack>(std::vector<std::string>{a, b});
                  })
      .def_pickle(
          [](const c10::intrusive_ptr<Stack>& self) -> std::vector<std::string> {
            return self->items;
          },
          [](std::vector<std::string> state) -> c10::intrusive_ptr<Stack> {
            return c10::make_intrusive<Stack>(std::move(state));
          });
  m.class_<Affine>("Affine")
      .def(torch::init(
          [](double scale, at::Tensor bias) { return c10::make_intrusive<Affine>(scale, bias); }))
      .def("apply", &Affine::apply, "",
           {torch::arg("x"), torch::arg("times") = 1, torch::arg("with_bias") = true})
      .def_property("scale", &Affine::scale_of, &Affine::set_scale)
      .def_readonly("calls", &Affine::calls)
      .def_readwrite("label", &Affine::label)
      .def_pickle(
          [](const c10::intrusive_ptr<Affine>& self) -> std::tuple<double, at::Tensor> {
            return std::make_tuple(self->scale, self->bias);
          },
          [](std::tuple<double, at::Tensor> state) -> c10::intrusive_ptr<Affine> {
            return c10::make_intrusive<Affine>(std::get<0>(state), std::get<1>(state));
          });
  m.def("apply_affine", &apply_affine);
  m.def("make_affine(float scale, Tensor bias) -> __torch__.torch.classes.made_classes.Affine",
        &make_affine);
}
