// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A cuDNN that takes every description, proposes engines, and supports no plan: what asks it has to do without. It
// checks what a description lacks and counts what is not given back.
#include <cudnn.h>

#include <cstdlib>
#include <map>

#include "control.h"

namespace {

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<int, int64_t> counts;  // elements of each attribute that was set
  bool final = false;
};

Descriptor& as(cudnnBackendDescriptor_t d) { return *reinterpret_cast<Descriptor*>(d); }

#define BEGIN() \
  if (tenon_fake_call("cudnn") != 0) return CUDNN_STATUS_INTERNAL_ERROR

bool has(const Descriptor& d, std::initializer_list<int> names) {
  for (int name : names) {
    if (d.counts.find(name) == d.counts.end()) return false;
  }
  return true;
}

bool whole(const Descriptor& d) {
  switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return has(d, {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_ATTR_TENSOR_STRIDES,
                     CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT}) &&
             d.counts.at(CUDNN_ATTR_TENSOR_DIMENSIONS) == d.counts.at(CUDNN_ATTR_TENSOR_STRIDES);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return has(
          d, {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_ATTR_CONVOLUTION_CONV_MODE,
              CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
              CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES});
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return d.counts.size() == 6;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return d.counts.size() == 2;
    default:
      return true;
  }
}

}  // namespace

extern "C" {

size_t cudnnGetVersion(void) {
  const char* other = std::getenv("TENON_FAKE_CUDNN_VERSION");
  return other ? static_cast<size_t>(std::atoi(other)) : CUDNN_VERSION;
}
const char* cudnnGetErrorString(cudnnStatus_t) { return "CUDNN_STATUS_OF_THE_FAKE"; }

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  BEGIN();
  *handle = reinterpret_cast<cudnnHandle_t>(new int(0));
  tenon_fake_count(TENON_FAKE_HANDLES, 1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  tenon_fake_count(TENON_FAKE_HANDLES, -1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) {
  BEGIN();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* out) {
  BEGIN();
  *out = reinterpret_cast<cudnnBackendDescriptor_t>(new Descriptor{type, {}});
  tenon_fake_count(TENON_FAKE_HANDLES, 1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d) {
  delete &as(d);
  tenon_fake_count(TENON_FAKE_HANDLES, -1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t n, const void*) {
  BEGIN();
  if (as(d).final) return CUDNN_STATUS_BAD_PARAM;
  as(d).counts[name] = n;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d) {
  BEGIN();
  if (!whole(as(d))) return CUDNN_STATUS_BAD_PARAM;
  if (as(d).type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) return CUDNN_STATUS_NOT_SUPPORTED;
  as(d).final = true;
  return CUDNN_STATUS_SUCCESS;
}
// Two engines, without notes.
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t, int64_t* n, void*) {
  BEGIN();
  *n = name == CUDNN_ATTR_ENGINEHEUR_RESULTS ? 2 : 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t*) { return CUDNN_STATUS_NOT_SUPPORTED; }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t) { return CUDNN_STATUS_NOT_SUPPORTED; }
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t, cudnnDataType_t, int, const int*, const int*) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnAddTensor(cudnnHandle_t, const void*, const cudnnTensorDescriptor_t, const void*, const void*,
                             const cudnnTensorDescriptor_t, void*) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t, const void*, const cudnnTensorDescriptor_t, const void*,
                                           const void*, const cudnnTensorDescriptor_t, void*) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}
}
