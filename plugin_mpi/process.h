// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// MPI in this process: who begins and ends it, its errors, its types and reductions.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "tenon/abi/tensor.h"

namespace tenon::mpi_engine {

// Begins MPI if the program has not, with MPI_THREAD_MULTIPLE. It then ends with the process,
// unless an operation is under way that cannot end. A program that begins MPI itself ends it
// itself. std::runtime_error: it cannot be used.
void begin_mpi();
bool is_usable();  // it has begun and not ended
// A call of MPI was left behind: MPI_Finalize would wait for it.
void leave_unfinished();
// Called before MPI ends; false: it cannot end.
void set_before_end(bool (*f)());
std::pair<int32_t, int32_t> world();  // rank and size of MPI_COMM_WORLD

// Throws what MPI says of an error code.
void check(int code, const char* what);
std::string text_of(int code, const char* what);
int to_int(size_t n);  // std::runtime_error: more than MPI counts

// While it lives, errors of a communicator are return codes.
class ErrorsReturn {
 public:
  explicit ErrorsReturn(MPI_Comm comm);
  ~ErrorsReturn();
  ErrorsReturn(const ErrorsReturn&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

// Of one element; MPI_DATATYPE_NULL for a dtype of another size.
MPI_Datatype datatype_of(tn_dtype dtype);
// MPI's own reduction, or one that the plugin defines: half, bfloat16 and complex numbers, and what
// would not keep a NaN. MPI_OP_NULL: no such reduction of this dtype.
bool has_reduction(tn_dtype dtype, int32_t reduction);
MPI_Op reduction_of(tn_dtype dtype, int32_t reduction);

}  // namespace tenon::mpi_engine
