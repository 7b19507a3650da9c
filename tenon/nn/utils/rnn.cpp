// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/utils/rnn.h"

#include <utility>
#include <vector>

#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace utils {
namespace rnn {

Tensor invert_permutation(const Tensor& permutation) {
  if (!permutation.defined()) return Tensor();
  const Tensor places = tenon::arange(permutation.numel(), permutation.options());
  return tenon::empty_like(permutation).scatter_(0, permutation, places);
}

PackedSequence::PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices,
                               Tensor unsorted_indices)
    : data_(std::move(data)),
      batch_sizes_(std::move(batch_sizes)),
      sorted_indices_(std::move(sorted_indices)),
      unsorted_indices_(std::move(unsorted_indices)) {
  TENON_CHECK(batch_sizes_.defined() && batch_sizes_.device().is_cpu(), ValueError,
              "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
              "created manually. They should be instantiated by functions like pack_sequence and "
              "pack_padded_sequence in nn::utils::rnn");
  if (!unsorted_indices_.defined()) unsorted_indices_ = invert_permutation(sorted_indices_);
}

PackedSequence PackedSequence::pin_memory() const {
  const auto pinned = [](const Tensor& t) { return t.defined() ? t.pin_memory() : t; };
  return PackedSequence(data_.pin_memory(), batch_sizes_, pinned(sorted_indices_),
                        pinned(unsorted_indices_));
}

PackedSequence PackedSequence::to(TensorOptions options) const {
  const Tensor data = data_.to(options);
  if (data.is_same(data_)) return *this;
  const auto moved = [&data](const Tensor& t) { return t.defined() ? t.to(data.device()) : t; };
  return PackedSequence(data, batch_sizes_, moved(sorted_indices_), moved(unsorted_indices_));
}

PackedSequence PackedSequence::cuda() const { return to(TensorOptions().device(kCUDA)); }
PackedSequence PackedSequence::cpu() const { return to(TensorOptions().device(kCPU)); }

PackedSequence pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first,
                                    bool enforce_sorted) {
  TENON_CHECK(input.numel() > 0, ValueError, "Cannot pack empty tensors.");
  lengths = lengths.to(kCPU);
  Tensor sorted_indices;
  if (!enforce_sorted) {
    std::tie(lengths, sorted_indices) = tenon::sort(lengths, -1, /*descending=*/true);
    sorted_indices = sorted_indices.to(input.device());
    input = input.index_select(batch_first ? 0 : 1, sorted_indices);
  }
  auto [data, batch_sizes] = tenon::_pack_padded_sequence(input, lengths, batch_first);
  return PackedSequence(std::move(data), std::move(batch_sizes), std::move(sorted_indices));
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first,
                                               double padding_value,
                                               std::optional<int64_t> total_length) {
  TENON_CHECK(sequence.data().defined(), ValueError,
              "pad_packed_sequence: the packed sequence is empty");
  const int64_t longest = sequence.batch_sizes().size(0);
  TENON_CHECK(!total_length || *total_length >= longest, ValueError,
              "Expected total_length to be at least the length of the longest sequence in input, "
              "but got total_length=",
              total_length.value_or(longest), " and max sequence length being ", longest);
  auto [padded, lengths] =
      tenon::_pad_packed_sequence(sequence.data(), sequence.batch_sizes(), batch_first,
                                  padding_value, total_length.value_or(longest));
  const Tensor& places = sequence.unsorted_indices();
  if (!places.defined()) return {padded, lengths};
  return {padded.index_select(batch_first ? 0 : 1, places),
          lengths.index_select(0, places.to(kCPU))};
}

Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first, double padding_value) {
  return tenon::pad_sequence(sequences, batch_first, padding_value);
}

PackedSequence pack_sequence(ArrayRef<Tensor> sequences, bool enforce_sorted) {
  std::vector<int64_t> lengths;
  lengths.reserve(sequences.size());
  for (const Tensor& s : sequences) lengths.push_back(s.size(0));
  return pack_padded_sequence(rnn::pad_sequence(sequences), tenon::tensor(lengths, kLong),
                              /*batch_first=*/false, enforce_sorted);
}

}  // namespace rnn
}  // namespace utils
}  // namespace nn
}  // namespace tenon
