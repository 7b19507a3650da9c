// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients in buckets, averaged over the ranks while backward() goes on.
//
// Each parameter's gradient is a view of its bucket. A hook on the node that adds to the gradient
// counts down the bucket's parameters; full buckets are sent in their order, which is the same on
// all ranks, and a callback at the end of the pass waits for them. The first iteration tells in
// which order gradients come; the buckets are then rebuilt in that order, as rank 0 saw it.
//
// A sparse gradient has a bucket of its own, without memory. The rows of all ranks are gathered at
// the end of the pass, as it takes their numbers first. Where nobody has said that a gradient is
// sparse, the ranks tell each other when it comes, at the end of the pass, and make the buckets
// again: in the first iteration, or in any where parameters may be unused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "distributed/parallel/comm.h"
#include "tenon/autograd/node.h"
#include "tenon/distributed/parallel/options.h"

namespace tenon::distributed {

// Lists of indices: tensors of one dtype and device whose sizes reach the limit together, in the
// order that is given. The first bucket of each kind has the first limit, in bytes.
std::vector<std::vector<std::size_t>> assign_buckets(const std::vector<Tensor>& tensors,
                                                     const std::vector<std::size_t>& order,
                                                     int64_t first_limit, int64_t limit);

class Reducer : public std::enable_shared_from_this<Reducer> {
 public:
  // sparse[i]: the gradient of that parameter is known to be. Hooks on buckets do not see such
  // gradients.
  Reducer(std::vector<Tensor> parameters, std::vector<std::string> names, std::vector<bool> sparse,
          Comm comm, const DistributedDataParallelOptions& options);
  ~Reducer();
  Reducer(const Reducer&) = delete;

  void install_hooks();
  // Before a forward that is differentiated: fails if the last backward did not end; makes the
  // buckets again if it is time, which is a collective.
  void begin_iteration();
  // After it: gradients are expected.
  void expect(const std::vector<Tensor>& outputs);
  // What a rank without inputs does for a backward of the others, after begin_iteration().
  void shadow_iteration();

  void set_sync(bool on) { sync_ = on; }
  bool sync() const { return sync_; }
  void divide_by(int ranks) { divisor_ = ranks; }
  std::size_t bucket_count() const { return buckets_.size(); }
  std::vector<std::string> bucket(std::size_t index) const;

 private:
  struct Place {
    std::size_t bucket, position;
  };
  struct Bucket {
    Tensor flat;
    std::vector<std::size_t> parameters;
    std::vector<Tensor> views;
    std::size_t missing = 0;
    SharedFunction<Tensor()> result;  // set when it is sent
    bool is_sparse = false;           // of one parameter, without `flat`
  };
  struct Hook;

  void make_buckets(const std::vector<std::size_t>& order);
  void add_dense_bucket(std::vector<std::size_t> indices);
  void add_sparse_bucket(std::size_t parameter);
  void rebuild_buckets();
  void find_unused(const std::vector<Tensor>& outputs);
  void on_gradient(std::size_t parameter);
  void begin_backward();
  void check_gradient(std::size_t parameter) const;
  void mark_ready(std::size_t parameter);
  void fill_view(std::size_t parameter);
  void send_full_buckets();
  // Of a sparse one, brings_rows: this rank has a gradient.
  void send(std::size_t bucket, bool brings_rows = true);
  void send_flags();
  void finish();
  void finish_first_static();
  // What all ranks must know of a parameter's gradient, as numbers of ranks once it is summed.
  enum Flag : std::size_t { kUsed, kFoundSparse };
  int32_t& flag(Flag f, std::size_t parameter) {
    return flags_.data_ptr<int32_t>()[f * parameters_.size() + parameter];
  }
  bool tells_flags() const { return may_skip() || !rebuilt_; }
  // The averages of gradients that were found to be sparse; undefined for the others.
  std::vector<Tensor> found_sparse();
  void take_results();
  void reset();
  std::string missing_names() const;
  bool may_skip() const { return options_.static_graph() || options_.find_unused_parameters(); }

  const std::vector<Tensor> parameters_;
  const std::vector<std::string> names_;
  std::vector<bool> sparse_;
  const Comm comm_;
  const DistributedDataParallelOptions options_;
  std::vector<std::uintptr_t> hooks_;

  std::vector<Bucket> buckets_;  // the sparse ones are the last
  std::size_t dense_buckets_ = 0;
  std::vector<Place> places_;
  std::vector<std::size_t> order_;    // that the buckets were made in
  std::vector<std::size_t> arrival_;  // of gradients, in the first iteration
  bool rebuild_ = false, rebuilt_ = false;
  bool remake_ = false;  // in the same order: some are sparse

  bool sync_ = true;
  int divisor_;
  // Of one iteration.
  bool expecting_ = false, in_backward_ = false;
  std::vector<bool> ready_;
  std::vector<int> times_, times_expected_;  // static graphs: how often a gradient comes
  std::vector<std::size_t> unused_;
  Tensor flags_;  // since the last average; int32, on the host
  Tensor flags_sent_;
  Pending flags_pending_;
  std::size_t next_ = 0;  // bucket to send
};

}  // namespace tenon::distributed
