/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Operations among the processes of a group, by an engine: gloo, MPI, NCCL. */
#ifndef TENON_ABI_EXT_COLLECTIVE_H_
#define TENON_ABI_EXT_COLLECTIVE_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_group tn_group; /* an engine's: one rank's membership */
typedef struct tn_work tn_work;   /* an engine's: one operation */

/* The buffers of each, `in` and `out` of tn_collective_call, for a group of `size` ranks. Buffers
 * are row-major without gaps. Where the table says n they hold one rank's part, where it says
 * size * n one part per rank in the order of ranks. `in` and `out` may be the same buffer where
 * both have n; they do not overlap otherwise. */
enum {
  TN_COLLECTIVE_ALL_REDUCE = 0,     /* in n, out n */
  TN_COLLECTIVE_REDUCE = 1,         /* in n, out n at root */
  TN_COLLECTIVE_BROADCAST = 2,      /* in n at root, out n: at root the same buffer */
  TN_COLLECTIVE_ALL_GATHER = 3,     /* in n, out size * n */
  TN_COLLECTIVE_GATHER = 4,         /* in n, out size * n at root */
  TN_COLLECTIVE_SCATTER = 5,        /* in size * n at root, out n */
  TN_COLLECTIVE_REDUCE_SCATTER = 6, /* in size * n, out n */
  TN_COLLECTIVE_ALL_TO_ALL = 7,     /* parts of in_counts and out_counts elements */
  TN_COLLECTIVE_BARRIER = 8,        /* none */
  TN_COLLECTIVE_SEND = 9,           /* in n */
  TN_COLLECTIVE_RECV = 10           /* out n */
};
/* AVG is the sum divided by the number of ranks. Bitwise ones are for integers and bool. A result
 * is the same, bit for bit, on all ranks that get it. */
enum {
  TN_COLLECTIVE_SUM = 0,
  TN_COLLECTIVE_AVG = 1,
  TN_COLLECTIVE_PRODUCT = 2,
  TN_COLLECTIVE_MIN = 3,
  TN_COLLECTIVE_MAX = 4,
  TN_COLLECTIVE_BAND = 5,
  TN_COLLECTIVE_BOR = 6,
  TN_COLLECTIVE_BXOR = 7
};
enum { TN_COLLECTIVE_ANY_SOURCE = -1 };
enum {
  /* The caller waits at once: the engine may do all the work before `start` returns. */
  TN_COLLECTIVE_BLOCKING = 1u << 0
};

/* How the ranks of a group meet: bytes by key that all of them see. Filled by core; any thread may
 * call it, until `leave` has returned. */
typedef struct tn_rendezvous {
  size_t struct_size;
  void* context;
  tn_status (*set)(void* context, tn_str key, const void* data, size_t bytes);
  /* Waits for the key, then calls take once. TN_ERROR_BACKEND: it did not come in time. */
  tn_status (*get)(void* context, tn_str key, int64_t timeout_ms,
                   void (*take)(void* arg, const void* data, size_t bytes), void* arg);
  /* Why the last call of this thread failed; borrowed until its next call. */
  tn_str (*last_error)(void* context);
} tn_rendezvous;

/* Filled by core. */
typedef struct tn_group_options {
  size_t struct_size;
  int32_t rank;
  int32_t size;
  int64_t timeout_ms;              /* of joining, and of operations that name none */
  tn_str name;                     /* of the group, unique in its rendezvous */
  const tn_rendezvous* rendezvous; /* null: see tn_ext_collective.world */
  tn_device device;                /* whose memory the operations are of; absent: the host's */
} tn_group_options;

/* Filled by core; borrowed until `start` returns, but the buffers, which stay until the work is
 * released. */
typedef struct tn_collective_call {
  size_t struct_size;
  int32_t operation;
  int32_t reduction;
  int32_t root; /* the peer of send and recv, which may be TN_COLLECTIVE_ANY_SOURCE */
  uint32_t tag; /* of send and recv */
  uint32_t flags;
  int64_t timeout_ms;
  const tn_tensor* in;  /* null where the operation has none */
  const tn_tensor* out; /* likewise */
  const int64_t* in_counts;
  const int64_t* out_counts;
  /* Of a group of a device with streams, null: the default one. The buffers are ready in its order,
   * and its later work comes after the operation. */
  tn_stream* stream;
} tn_collective_call;

/* Chained into tn_plugin.ext with id TN_EXT_COLLECTIVE. All functions may be called from any
 * thread. Operations of one group are started in the same order on all its ranks, sends and
 * receives of other tags aside. */
typedef struct tn_ext_collective {
  tn_ext head;
  void* context; /* of the functions below */
  /* TN_OK: it serves the operation, with this reduction if it has one, of such tensors.
   * TN_DECLINED: not; core then stages them through the host, computes in another dtype, or builds
   * the operation from others. It makes no other call. */
  tn_status (*supports)(void* context, int32_t operation, int32_t reduction, tn_dtype dtype,
                        tn_str device);
  /* Returns when all ranks of the group are connected. */
  tn_status (*join)(void* context, const tn_group_options* options, tn_group** out);
  /* All works must have been released. */
  void (*leave)(void* context, tn_group* group);
  /* Begins an operation. On a device with streams it is then in the order of the call's stream, and
   * the host has waited for neither. Such an engine ends an operation at its timeout by itself, as
   * nobody may ask for it: the stream goes on, the work has failed, and the group is aborted. */
  tn_status (*start)(void* context, tn_group* group, const tn_collective_call* call, tn_work** out);
  /* Waits for at most so many milliseconds, 0: not at all. *done is 0 while the work is under way.
   * The status is that of the operation once it is done. A work on a stream is done when the device
   * has done it. */
  tn_status (*wait)(void* context, tn_work* work, int64_t timeout_ms, int32_t* done);
  /* Rank that a receive came from; of a work that is done. */
  int32_t (*source)(void* context, tn_work* work);
  /* Of a work that is under way: ends the wait for it, and the group with it. 0: the operation
   * cannot be taken back, as with MPI, and its buffers stay until the process ends; else they are
   * the caller's again. */
  int32_t (*release)(void* context, tn_work* work);
  /* Ends all that is under way with TN_ERROR_BACKEND, also on another thread that waits. The group
   * takes no further operation; peers see a lost connection. */
  void (*abort)(void* context, tn_group* group);
  /* Why the last call of this thread failed; borrowed until its next call. */
  tn_str (*last_error)(void* context);
  /* Optional: the rank of this process and the number of processes, which were started together
   * and know each other without a rendezvous, as with mpirun. Absent: nobody but the caller knows.
   * With it, `join` takes options without a rendezvous for a group of all of them. */
  tn_status (*world)(void* context, int32_t* rank, int32_t* size);
  /* Optional: when the engine began and ended to work on an operation that is done, in nanoseconds
   * of CLOCK_MONOTONIC, for profiles. TN_DECLINED: that is not known. */
  tn_status (*span)(void* context, tn_work* work, int64_t* begin_ns, int64_t* end_ns);
} tn_ext_collective;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_COLLECTIVE_H_ */
