// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The parameters of one unit, one after the other in a list that is cut into a part per rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "distributed/parallel/comm.h"
#include "tenon/tensor.h"

namespace tenon::distributed {

class FlatUnit {
 public:
  // Takes the parameters' memory: they are empty until gather().
  FlatUnit(std::string name, std::vector<Tensor> parameters, std::vector<std::string> names,
           Comm comm);

  // This rank's part, a leaf.
  const Tensor& shard() const { return shard_; }
  const std::string& name() const { return name_; }
  const std::vector<Tensor>& parameters() const { return parameters_; }
  const std::vector<std::string>& names() const { return names_; }
  int64_t numel() const { return numel_; }  // without padding

  bool gathered() const { return full_.defined(); }
  const Tensor& full() const { return full_; }
  void gather();     // a collective unless gathered
  void release();    // parameters are empty again
  void keep_part();  // the shard takes what has been written to the parameters; gathered

  // The averages of the parameters' gradients become the shard's, when wait_reduced() returns; the
  // parameters have none afterwards.
  void start_reduce();
  void wait_reduced();

  // All elements of a tensor of which each rank has a part like the shard's. A collective.
  Tensor whole(const Tensor& part) const;
  // This rank's part of all elements.
  Tensor part_of(const Tensor& whole) const;
  Tensor view_of(const Tensor& whole, std::size_t parameter) const;

 private:
  const std::string name_;
  const std::vector<Tensor> parameters_;
  const std::vector<std::string> names_;
  const Comm comm_;
  std::vector<std::vector<int64_t>> sizes_;
  std::vector<int64_t> offsets_;
  int64_t numel_ = 0, padded_ = 0;
  Tensor shard_, full_, nothing_, sent_, received_;
  Pending pending_;
};

}  // namespace tenon::distributed
