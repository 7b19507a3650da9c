// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Classes of C++ that programs make, call, hold and save. It prints the same with libtorch.
#include <torch/custom_class.h>
#include <torch/script.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "classes/classes.h"

namespace {

// A value without its quotes.
std::string text(const c10::IValue& v) {
  if (v.isString()) return v.toStringRef();
  if (v.isInt()) return std::to_string(v.toInt());
  std::string out;
  if (v.isDouble()) return std::to_string(v.toDouble());
  if (v.isTuple())
    for (const auto& part : v.toTuple()->elements()) out += text(part) + ",";
  if (v.isList())
    for (const c10::IValue& part : v.toList()) out += text(part) + ",";
  if (v.isGenericDict())
    for (const auto& item : v.toGenericDict())
      out += text(item.key()) + ":" + text(item.value()) + ",";
  return "(" + out + ")";
}

c10::intrusive_ptr<Affine> new_affine(double scale) {
  return c10::make_intrusive<Affine>(scale, torch::tensor({0.5, -0.5}));
}

void values() {
  const c10::IValue v = torch::make_custom_class<Stack>(std::vector<std::string>{"a", "b"});
  std::cout << v.isObject() << v.isCustomClass() << torch::isCustomClass(v) << v.isModule()
            << torch::isCustomClass(c10::IValue(3)) << "\n";
  const auto stack = v.toCustomClass<Stack>();
  stack->push("c");
  std::cout << v.toCustomClass<Stack>()->size() << " " << stack.use_count() << "\n";
  std::cout << v.type()->str() << " " << v.type()->annotation_str() << "\n";

  const c10::IValue again = stack;  // another value, of the same object
  std::cout << (again.toCustomClass<Stack>().get() == stack.get()) << " "
            << v.to<c10::intrusive_ptr<Stack>>()->pop() << "\n";
  try {
    v.toCustomClass<Affine>();
  } catch (const c10::Error&) {
    std::cout << "a Stack is not an Affine\n";
  }

  const c10::IValue capsule = c10::IValue::make_capsule(stack);
  std::cout << capsule.isCapsule() << v.isCapsule() << (capsule.toCapsule().get() == stack.get())
            << "\n";

  c10::List<c10::intrusive_ptr<Stack>> list;
  list.push_back(stack);
  std::cout << list.get(0)->size() << " " << c10::IValue(list).toList().get(0).isCustomClass()
            << "\n";
}

void types() {
  const auto cls = torch::getCustomClass("__torch__.torch.classes.made_classes.Stack");
  std::cout << cls->str() << " " << (torch::getCustomClass("__torch__.None") == nullptr) << "\n";
  std::cout << (c10::getCustomClassType<c10::intrusive_ptr<Stack>>() == cls) << "\n";
}

// Methods as a program calls them.
void methods() {
  torch::jit::Module m("m");
  const c10::IValue affine = new_affine(2),
                    stack =
                        torch::make_custom_class<Stack>(std::vector<std::string>{"a", "b", "a"});
  m.register_attribute("affine", affine.type(), affine, false);
  m.register_attribute("stack", stack.type().get(), stack);
  m.define(R"(
def forward(self, x):
  y = self.affine.apply(x) + self.affine.apply(x, 3, with_bias=False)
  self.affine.scale = 3.
  self.affine.label = self.affine.label + "!"
  return y, self.affine.scale, self.affine.calls, self.affine.label
def words(self):
  other = self.stack.clone()
  other.push("c")
  other.merge(self.stack)
  return other.counts(), other.ends(), other.pop(), other.first_or(None), len(other.several(2))
def change(self, word: str):
  same = self.stack
  same.push(word)
  return self.stack.size()
)");
  const auto out = m.forward({torch::ones({2})}).toTuple();
  std::cout << out->elements()[0].toTensor() << "\n"
            << text(out->elements()[1]) << " " << text(out->elements()[2]) << " "
            << text(out->elements()[3]) << "\n";
  const auto words = m.run_method("words").toTuple();
  for (const auto& part : words->elements()) std::cout << text(part) << " ";
  std::cout << "\n"
            << text(m.run_method("change", std::string("d"))) << " "
            << stack.toCustomClass<Stack>()->size() << "\n";

  std::stringstream file;
  m.save(file);
  auto loaded = torch::jit::load(file);
  const auto held = loaded.attr("stack").toCustomClass<Stack>();
  std::cout << held->size() << held->items.back()
            << loaded.attr("affine").toCustomClass<Affine>()->scale << "\n"
            << loaded.forward({torch::ones({2})}).toTuple()->elements()[0].toTensor() << "\n";

  auto copy = m.deepcopy();
  copy.run_method("change", std::string("e"));
  std::cout << copy.attr("stack").toCustomClass<Stack>()->size()
            << stack.toCustomClass<Stack>()->size() << "\n";
}

void passed_to_programs() {
  torch::jit::Module m("m");
  m.define(R"(
def put(self, stack: __torch__.torch.classes.made_classes.Stack, word: str):
  stack.push(word)
  return stack
)");
  const auto stack = c10::make_intrusive<Stack>(std::vector<std::string>{});
  const auto back = m.run_method("put", stack, std::string("a")).toCustomClass<Stack>();
  std::cout << (back.get() == stack.get()) << stack->size() << "\n";
  try {
    m.run_method("put", new_affine(1), std::string("a"));
  } catch (const std::exception&) {
    std::cout << "an Affine is not a Stack\n";
  }
  try {
    stack->pop();
    m.define("def bad(self, s: __torch__.torch.classes.made_classes.Stack): return s.nothing()\n");
  } catch (const std::exception&) {
    std::cout << "a Stack has no method nothing\n";
  }
}

void schemas() {
  const auto cls = torch::getCustomClass("__torch__.torch.classes.made_classes.Affine");
  torch::jit::Module m("m");
  m.register_attribute("affine", cls, c10::IValue(new_affine(1)));
  m.define("def forward(self, x, n: int = 2): return self.affine.apply(x, n)\n");
  const auto schema = m.get_method("forward").function().getSchema();
  for (const auto& a : schema.arguments()) {
    std::cout << a.name() << " " << (a.name() == "self" ? "Module" : a.type()->annotation_str());
    if (a.default_value()) std::cout << " = " << text(*a.default_value());
    std::cout << "; ";
  }
  std::cout << schema.returns().size() << " "
            << (schema.arguments()[1].type()->kind() == c10::TypeKind::TensorType) << "\n";
}

void through_the_dispatcher() {
  using Pointer = c10::intrusive_ptr<Affine>;
  const auto op = c10::Dispatcher::singleton()
                      .findSchemaOrThrow("made_classes::apply_affine", "")
                      .typed<at::Tensor(const Pointer&, const at::Tensor&)>();
  std::cout << op.call(new_affine(4), torch::ones({2})) << "\n";
}

void show(torch::jit::Module& net) {
  const auto out = net.forward({torch::ones({2})}).toTuple();
  std::cout << out->elements()[0].toTensor() << "\n" << text(out->elements()[1]) << "\n";
  std::cout << text(net.run_method("push", std::string("z"))) << " "
            << text(net.run_method("ends", net.run_method("get"))) << " "
            << (net.attr("stack").toCustomClass<Stack>().get() ==
                net.attr("stacks").toList().get(0).toCustomClass<Stack>().get())
            << "\n";
}

// Written by torch.jit.save: make_archive.py.
void archives() {
  auto net = torch::jit::load(TEST_ARCHIVE);
  show(net);
  std::stringstream file;
  net.save(file);
  auto again = torch::jit::load(file);
  show(again);
}

}  // namespace

int main() {
  values();
  types();
  methods();
  passed_to_programs();
  schemas();
  through_the_dispatcher();
  archives();
}
