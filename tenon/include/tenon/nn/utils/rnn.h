// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sequences of several lengths for recurrent layers: padded to one length in one tensor, or packed,
// which has no padding: the elements of all sequences time by time, longest sequence first.
#pragma once

#include <optional>
#include <tuple>

#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace utils {
namespace rnn {

// The inverse of a permutation [n] of integers; undefined of an undefined tensor.
TENON_API Tensor invert_permutation(const Tensor& permutation);

// What pack_padded_sequence and pack_sequence make. Copies share the tensors.
class TENON_API PackedSequence {
 public:
  PackedSequence() = default;
  // batch_sizes stays on the host. If the indices of the inverse permutation are not given, they
  // are computed.
  explicit PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices = {},
                          Tensor unsorted_indices = {});

  // [sum of the lengths, ...].
  const Tensor& data() const { return data_; }
  // [longest length]: how many sequences have an element at each time.
  const Tensor& batch_sizes() const { return batch_sizes_; }
  // [batch]: which sequence is the i-th of the packed ones; undefined if all keep their places.
  const Tensor& sorted_indices() const { return sorted_indices_; }
  // [batch]: which of the packed sequences is the i-th; undefined if all keep their places.
  const Tensor& unsorted_indices() const { return unsorted_indices_; }

  PackedSequence pin_memory() const;
  // Converts data, and moves the indices along. Returns this packed sequence if nothing changes.
  PackedSequence to(TensorOptions options) const;
  PackedSequence cuda() const;
  PackedSequence cpu() const;
  bool is_cuda() const { return data_.is_cuda(); }
  bool is_pinned() const { return data_.is_pinned(); }

 private:
  Tensor data_, batch_sizes_, sorted_indices_, unsorted_indices_;
};

// Packs input, [time, batch, ...] or with batch_first [batch, time, ...], whose sequences have the
// given lengths, [batch]. enforce_sorted: lengths must decrease; otherwise sequences are sorted.
TENON_API PackedSequence pack_padded_sequence(Tensor input, Tensor lengths,
                                              bool batch_first = false, bool enforce_sorted = true);
// The inverse: the padded sequences, of total_length or else of the longest length, and their
// lengths.
TENON_API std::tuple<Tensor, Tensor> pad_packed_sequence(
    const PackedSequence& sequence, bool batch_first = false, double padding_value = 0.0,
    std::optional<int64_t> total_length = std::nullopt);
// Sequences [length, ...] in one tensor, [longest, batch, ...] or with batch_first [batch,
// longest, ...].
TENON_API Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first = false,
                              double padding_value = 0);
// Packs sequences [length, ...].
TENON_API PackedSequence pack_sequence(ArrayRef<Tensor> sequences, bool enforce_sorted = true);

}  // namespace rnn
}  // namespace utils
}  // namespace nn
}  // namespace tenon
