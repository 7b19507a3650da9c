// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What passes ask of the values of a graph, and the nodes that they make.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "tenon/jit/graph.h"

namespace tenon::jit {

// Constants; nothing for a value of another kind, or not known. A number may be a bool.
std::optional<Tensor> tensor_of(const Value* v);
std::optional<double> number_of(const Value* v);
std::optional<int64_t> int_of(const Value* v);
std::optional<bool> bool_of(const Value* v);
// Of a constant, or of a list made of constants; a number is a list of one.
std::optional<std::vector<int64_t>> ints_of(const Value* v);
bool is_none(const Value* v);
bool is_number(const Value* v, double number);  // exactly

// Whether the node asks a tensor what does not change from run to run (rank, dtype, device), or
// what may where sizes may (sizes, numbers of elements, lengths).
TENON_API bool asks_rank_or_dtype(const Node& n);
TENON_API bool asks_sizes(const Node& n);

// Whether the sizes of the results depend on values of the operator's arguments. Indexing by masks
// is not among them: what the indices are is not seen here.
TENON_API bool may_give_sizes_by_data(const Node& n);

// Whether it gives the real numbers of integers. Of constants it is a weight, which programs and
// files keep as integers.
TENON_API bool dequantizes(const Node& n);

// What a prim::isinstance gives for the value.
TENON_API bool is_instance(const Node& n, const IValue& v);
// What prim::CreateObject makes: of the class, with attributes that nothing has set.
TENON_API IValue new_object(const Node& n);

// The input that the schema calls `argument`; null if it has none.
Value* argument(const Node& n, std::string_view argument);

// The node that alone uses the value, once; null if there is none, or it stands in another block.
Node* only_user(const Value* v);

// Arguments of a method, self left out, as a call takes them: with defaults, and containers of the
// declared types. TypeError as from the call.
TENON_API std::vector<IValue> arguments_of_call(const Function& method, IValue self,
                                                std::vector<IValue> given);

// Nodes of the block and of the blocks in it.
std::size_t count_nodes(const Block& b);

// A node like `n` before the insertion point, with another first input.
Node* insert_on(Graph& g, const Node& n, Value* first);
// A node of the operator before the insertion point, its first output of the type Tensor.
Node* insert_call(Graph& g, std::string_view full_name, const std::vector<Value*>& inputs,
                  const Node& like);

}  // namespace tenon::jit
