// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The default group of the process, and operations by torch.distributed's names. `group` null: the
// default group; ranks (src, dst) are those of the group.
#pragma once

#include <string>
#include <vector>

#include "tenon/distributed/process_group.h"

namespace tenon::distributed {

// Waits until all `world_size` ranks have come.
//   env://                    MASTER_ADDR, MASTER_PORT, WORLD_SIZE, RANK (values given here win)
//   tcp://HOST:PORT           rank 0 serves a TCPStore there; rank and world_size are required
//   tcp://224.x.y.z:PORT      multicast: the ranks find each other; world_size is required
//   file:///PATH              a FileStore; ranks are given out in the order of arrival if rank is
//   -1
//   mpi://                    rank and size are MPI's, of processes that mpirun started; the
//   default
//                             of the backend "mpi" where MASTER_ADDR is not set
// `group_name` keeps jobs apart that meet at one place. ValueError: something is missing or wrong,
// or there is a default group already.
TENON_API void init_process_group(const std::string& backend = "gloo",
                                  const std::string& init_method = "env://", int world_size = -1,
                                  int rank = -1, const std::string& group_name = "",
                                  std::chrono::milliseconds timeout = kDefaultTimeout);
TENON_API void init_process_group(const std::string& backend, std::shared_ptr<Store> store,
                                  int world_size, int rank, const std::string& group_name = "",
                                  std::chrono::milliseconds timeout = kDefaultTimeout);
TENON_API bool is_initialized();
// Null or the default: the default group and all others end. Otherwise that group.
TENON_API void destroy_process_group(const ProcessGroupPtr& group = nullptr);
TENON_API ProcessGroupPtr default_group();  // ValueError: not initialized
// Called by all ranks of the default group in the same order; null on those that are not members.
TENON_API ProcessGroupPtr new_group(std::vector<int> ranks = {},
                                    std::chrono::milliseconds timeout = kUnsetTimeout,
                                    const std::string& backend = "");

TENON_API int get_rank(const ProcessGroupPtr& group = nullptr);
TENON_API int get_world_size(const ProcessGroupPtr& group = nullptr);
TENON_API std::string get_backend(const ProcessGroupPtr& group = nullptr);

TENON_API WorkPtr isend(const Tensor& tensor, int dst, const ProcessGroupPtr& group = nullptr,
                        int tag = 0);
TENON_API WorkPtr irecv(const Tensor& tensor, int src = kAnySource,
                        const ProcessGroupPtr& group = nullptr, int tag = 0);
TENON_API void send(const Tensor& tensor, int dst, const ProcessGroupPtr& group = nullptr,
                    int tag = 0);
// Returns the sender.
TENON_API int recv(const Tensor& tensor, int src = kAnySource,
                   const ProcessGroupPtr& group = nullptr, int tag = 0);

// With async_op a Work that is to be waited for, else null, and the operation is done.
TENON_API WorkPtr all_reduce(const Tensor& tensor, ReduceOp op = ReduceOp::SUM,
                             const ProcessGroupPtr& group = nullptr, bool async_op = false);
TENON_API WorkPtr all_reduce_coalesced(const std::vector<Tensor>& tensors,
                                       ReduceOp op = ReduceOp::SUM,
                                       const ProcessGroupPtr& group = nullptr,
                                       bool async_op = false);
// The sum or average of sparse COO tensors of one shape, coalesced, with the same bits on all
// ranks. Ranks may have different numbers of elements. It waits. DistributedError: the shapes,
// dtypes or numbers of sparse dimensions differ.
TENON_API Tensor all_reduce_sparse(const Tensor& tensor, ReduceOp op = ReduceOp::SUM,
                                   const ProcessGroupPtr& group = nullptr);
TENON_API WorkPtr reduce(const Tensor& tensor, int dst, ReduceOp op = ReduceOp::SUM,
                         const ProcessGroupPtr& group = nullptr, bool async_op = false);
TENON_API WorkPtr broadcast(const Tensor& tensor, int src, const ProcessGroupPtr& group = nullptr,
                            bool async_op = false);
TENON_API WorkPtr all_gather(const std::vector<Tensor>& tensor_list, const Tensor& tensor,
                             const ProcessGroupPtr& group = nullptr, bool async_op = false);
TENON_API WorkPtr all_gather_into_tensor(const Tensor& output, const Tensor& input,
                                         const ProcessGroupPtr& group = nullptr,
                                         bool async_op = false);
// `gather_list`: on dst alone.
TENON_API WorkPtr gather(const Tensor& tensor, const std::vector<Tensor>& gather_list = {},
                         int dst = 0, const ProcessGroupPtr& group = nullptr,
                         bool async_op = false);
// `scatter_list`: on src alone.
TENON_API WorkPtr scatter(const Tensor& tensor, const std::vector<Tensor>& scatter_list = {},
                          int src = 0, const ProcessGroupPtr& group = nullptr,
                          bool async_op = false);
TENON_API WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& input_list,
                                 ReduceOp op = ReduceOp::SUM,
                                 const ProcessGroupPtr& group = nullptr, bool async_op = false);
TENON_API WorkPtr reduce_scatter_tensor(const Tensor& output, const Tensor& input,
                                        ReduceOp op = ReduceOp::SUM,
                                        const ProcessGroupPtr& group = nullptr,
                                        bool async_op = false);
TENON_API WorkPtr all_to_all(const std::vector<Tensor>& output_list,
                             const std::vector<Tensor>& input_list,
                             const ProcessGroupPtr& group = nullptr, bool async_op = false);
TENON_API WorkPtr all_to_all_single(const Tensor& output, const Tensor& input,
                                    const std::vector<int64_t>& output_split_sizes = {},
                                    const std::vector<int64_t>& input_split_sizes = {},
                                    const ProcessGroupPtr& group = nullptr, bool async_op = false);
TENON_API WorkPtr barrier(const ProcessGroupPtr& group = nullptr, bool async_op = false);

// Strings of any bytes.
TENON_API std::vector<std::string> all_gather_object(const std::string& object,
                                                     const ProcessGroupPtr& group = nullptr);
TENON_API std::string broadcast_object(const std::string& object, int src,
                                       const ProcessGroupPtr& group = nullptr);

}  // namespace tenon::distributed
