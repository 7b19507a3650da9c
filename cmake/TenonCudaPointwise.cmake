# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
#
# TENON_CUDA_POINTWISE: the sources that opgen writes from pointwise.def for CUDA; what compiles them depends on the
# target tenon_cuda_pointwise. Few files, as what each includes takes longer than a line of the table.
set(TENON_CUDA_POINTWISE "")
foreach(i RANGE 9)
  list(APPEND TENON_CUDA_POINTWISE ${CMAKE_BINARY_DIR}/gen/pointwise_cuda/pw_${i}.cu)
endforeach()
if(NOT TARGET tenon_cuda_pointwise)
  set(def ${CMAKE_SOURCE_DIR}/sdk/include/tenon/sdk/pointwise.def)
  set(gen ${CMAKE_BINARY_DIR}/gen/pointwise_cuda)
  file(MAKE_DIRECTORY ${gen})
  add_custom_command(
    OUTPUT ${gen}/pointwise.stamp
    BYPRODUCTS ${TENON_CUDA_POINTWISE}
    COMMAND opgen --pointwise-cuda ${def} ${gen} 10
    COMMAND ${CMAKE_COMMAND} -E touch ${gen}/pointwise.stamp
    DEPENDS opgen ${def}
    COMMENT "Writing the pointwise kernels for CUDA" VERBATIM)
  add_custom_target(tenon_cuda_pointwise DEPENDS ${gen}/pointwise.stamp)
endif()
