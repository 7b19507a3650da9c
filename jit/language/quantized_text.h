// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The operators of quantized programs and of those for mobile devices, and the classes of C++ in
// torch that hold their weights, in the language itself. "quantized::f" is quantized_f here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/language/match.h"
#include "tenon/jit/custom_class.h"
#include "tenon/jit/unit.h"

namespace tenon::jit::language {

const std::string& quantized_functions();
std::string quantized_weight_classes();  // below __torch__.torch.classes.quantized
std::string quantized_cell_classes();    // below __torch__.torch.classes.rnn

// The name of the function of quantized_functions() that a call of the operator means; empty: none
// does.
bool is_quantized_operator(std::string_view name);
std::string quantized_function(const std::string& op, const std::vector<NamedValue>& args);

// The operator that a function of quantized_functions() stands for, as programs call it:
// "ops.quantized.f"; empty: it is another function.
std::string quantized_operator(std::string_view qualified_function);

// The same of programs for mobile devices (prepacked_text.cpp).
std::string_view prepacked_functions();
std::string prepacked_classes();  // below __torch__.torch.classes.xnnpack

// Whether it is a class of packed weights: "__torch__.torch.classes.quantized.M".
bool is_weight_class(std::string_view qualified_name);
// Defines those classes where the unit does not have them.
void define_weight_classes(CompilationUnit& unit);

}  // namespace tenon::jit::language
