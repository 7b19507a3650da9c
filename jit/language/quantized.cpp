// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which function of quantized_text.cpp an operator of a quantized program is.
#include <set>

#include "jit/language/emit.h"
#include "jit/language/emitter.h"
#include "jit/language/quantized_text.h"

namespace tenon::jit::language {
namespace {

constexpr std::string_view kQuantizedSpace = "__torch__.torch.classes.quantized";
constexpr std::string_view kCellSpace = "__torch__.torch.classes.rnn";
constexpr std::string_view kMobileSpace = "__torch__.torch.classes.xnnpack";
constexpr std::string_view kPrepacked = "prepacked::";

bool is_tensor(const std::vector<NamedValue>& args, std::size_t i) {
  return i < args.size() && args[i].value->type()->is(TypeKind::Tensor);
}

// Overloads that torch tells apart by their arguments; `name` as it is where there are none.
std::string overload(const std::string& name, const std::vector<NamedValue>& args) {
  static const std::set<std::string> kWindows = {"conv2d", "conv2d_relu", "conv3d", "conv3d_relu"};
  static const std::set<std::string> kArithmetic = {"add", "add_relu", "mul", "mul_relu"};
  static const std::set<std::string> kScalar = {"add_scalar", "add_scalar_relu", "mul_scalar",
                                                "mul_scalar_relu"};
  if (kWindows.count(name) && args.size() == 8) return "_quantized_" + name + "_of_window";
  if (kScalar.count(name) && is_tensor(args, 1)) return "_quantized_" + name + "_of_tensor";
  if (kArithmetic.count(name) && args.size() == 2)
    return "quantized_" + name.substr(0, 3) + "_scalar" + name.substr(3);
  if (kArithmetic.count(name) && args.size() == 3) return "quantized_" + name + "_out";
  return "quantized_" + name;
}

void define_classes(CompilationUnit& unit, std::string_view space, std::string text) {
  auto source = std::make_shared<Source>();
  source->text = std::move(text);
  source->file = "torch/classes.py";
  define_file(unit, std::string(space), parse_file(source), std::make_shared<Resolver>());
}

}  // namespace

bool is_quantized_operator(std::string_view name) {
  if (name == "aten::quantized_lstm" || name == "aten::quantized_gru") return true;
  if (name.substr(0, kPrepacked.size()) == kPrepacked)
    return is_functional("prepacked_" + std::string(name.substr(kPrepacked.size())));
  return name.substr(0, 11) == "quantized::" &&
         is_functional("quantized_" + std::string(name.substr(11)));
}

std::string quantized_function(const std::string& op, const std::vector<NamedValue>& args) {
  // With batch_sizes as the second argument the sequences are packed.
  if (op == "aten::quantized_lstm")
    return is_tensor(args, 1) ? "_quantized_lstm_packed" : "_quantized_lstm";
  if (op == "aten::quantized_gru")
    return is_tensor(args, 2) ? "_quantized_gru_packed" : "_quantized_gru";
  if (op.rfind(kPrepacked, 0) == 0) return "prepacked_" + op.substr(kPrepacked.size());
  return op.rfind("quantized::", 0) == 0 ? overload(op.substr(11), args) : "";
}

std::string quantized_operator(std::string_view function) {
  const std::string prefix = std::string(kFunctionalPrefix) + ".";
  if (function.substr(0, prefix.size()) != prefix) return "";
  std::string name(function.substr(prefix.size()));
  if (name.rfind("quantized_", 0) == 0) return "ops.quantized." + name.substr(10);
  if (name.rfind("prepacked_", 0) == 0) return "ops.prepacked." + name.substr(10);
  if (name.rfind("_quantized_lstm", 0) == 0) return "torch.quantized_lstm";
  if (name.rfind("_quantized_gru", 0) == 0) return "torch.quantized_gru";
  for (const std::string end : {"_of_window", "_of_tensor"}) {
    const std::size_t at = name.rfind(end);
    if (at != std::string::npos && name.rfind("_quantized_", 0) == 0)
      return "ops.quantized." + name.substr(11, at - 11);
  }
  return "";
}

bool is_weight_class(std::string_view name) {
  const std::string_view space = name.substr(0, name.rfind('.'));
  return space == kQuantizedSpace || space == kCellSpace || space == kMobileSpace;
}

void define_weight_classes(CompilationUnit& unit) {
  // The importer of an archive asks for them again while they are defined.
  const std::string first = std::string(kQuantizedSpace) + ".LinearPackedParamsBase";
  const auto importer = std::exchange(unit.importer, nullptr);
  if (!unit.find_class(first)) {
    define_classes(unit, kQuantizedSpace, quantized_weight_classes());
    define_classes(unit, kCellSpace, quantized_cell_classes());
    define_classes(unit, kMobileSpace, prepacked_classes());
  }
  unit.importer = importer;
}

}  // namespace tenon::jit::language
