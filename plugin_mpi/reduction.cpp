// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <mutex>
#include <tuple>

#include "plugin_mpi/process.h"
#include "tenon/sdk/collective_reduce.h"

namespace tenon::mpi_engine {
namespace {

template <class T>
MPI_Datatype datatype() {
  if constexpr (std::is_same_v<T, float>) return MPI_FLOAT;
  if constexpr (std::is_same_v<T, double>) return MPI_DOUBLE;
  if constexpr (std::is_same_v<T, std::complex<float>>) return MPI_C_FLOAT_COMPLEX;
  if constexpr (std::is_same_v<T, std::complex<double>>) return MPI_C_DOUBLE_COMPLEX;
  if constexpr (std::is_same_v<T, int8_t>) return MPI_INT8_T;
  if constexpr (std::is_same_v<T, int16_t>) return MPI_INT16_T;
  if constexpr (std::is_same_v<T, int32_t>) return MPI_INT32_T;
  if constexpr (std::is_same_v<T, int64_t>) return MPI_INT64_T;
  return sizeof(T) == 1 ? MPI_UINT8_T : MPI_UINT16_T;  // bool, uint8; half and bfloat16
}

// MPI's, whose result does not depend on the order of its operands. MPI_MAX and MPI_MIN of floats
// lose a NaN on one side, and bool is a number there.
template <class T>
MPI_Op predefined(int32_t reduction) {
  constexpr bool kInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  constexpr bool kFloat = std::is_floating_point_v<T>;
  switch (reduction) {
    case TN_COLLECTIVE_SUM:
    case TN_COLLECTIVE_AVG:
      return kInteger || kFloat ? MPI_SUM : MPI_OP_NULL;
    case TN_COLLECTIVE_PRODUCT:
      return kInteger || kFloat ? MPI_PROD : MPI_OP_NULL;
    case TN_COLLECTIVE_MIN:
      return kInteger ? MPI_MIN : MPI_OP_NULL;
    case TN_COLLECTIVE_MAX:
      return kInteger ? MPI_MAX : MPI_OP_NULL;
    case TN_COLLECTIVE_BAND:
      return kInteger ? MPI_BAND : MPI_OP_NULL;
    case TN_COLLECTIVE_BOR:
      return kInteger ? MPI_BOR : MPI_OP_NULL;
    case TN_COLLECTIVE_BXOR:
      return kInteger ? MPI_BXOR : MPI_OP_NULL;
  }
  return MPI_OP_NULL;
}

template <class T, int32_t R>
void reduce_in_place(void* in, void* in_out, int* n, MPI_Datatype*) {
  sdk::reduce_elements<T, R>(in_out, in, in_out, static_cast<size_t>(*n));
}
template <class T, int32_t R>
struct FunctionOf {
  static constexpr MPI_User_function* value = reduce_in_place<T, R>;
};

}  // namespace

MPI_Datatype datatype_of(tn_dtype dtype) {
  struct Type {
    MPI_Datatype type = MPI_DATATYPE_NULL;
  };
  return sdk::detail::of_collective_dtype<Type>(
             dtype, [](auto v) { return Type{datatype<decltype(v)>()}; })
      .type;
}

bool has_reduction(tn_dtype dtype, int32_t reduction) {
  return sdk::combine_of(dtype, reduction) != nullptr;
}

MPI_Op reduction_of(tn_dtype dtype, int32_t reduction) {
  struct Op {
    MPI_Op op = MPI_OP_NULL;
  };
  const Op own = sdk::detail::of_collective_dtype<Op>(
      dtype, [&](auto v) { return Op{predefined<decltype(v)>(reduction)}; });
  if (own.op != MPI_OP_NULL) return own.op;
  static auto* lock = new std::mutex();
  static auto* made = new std::map<MPI_User_function*, MPI_Op>();  // kept until MPI ends
  MPI_User_function* const f = sdk::of_reduction<MPI_User_function*, FunctionOf>(dtype, reduction);
  if (!f) return MPI_OP_NULL;
  std::lock_guard held(*lock);
  const auto [place, fresh] = made->try_emplace(f, MPI_OP_NULL);
  if (fresh) check(MPI_Op_create(f, /*commute=*/1, &place->second), "MPI_Op_create");
  return place->second;
}

}  // namespace tenon::mpi_engine
