// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/parallel/comm.h"

#include <algorithm>
#include <cstring>

#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::distributed {

CollectiveGroup::~CollectiveGroup() = default;

void Pending::wait() {
  if (!wait_) return;
  const SharedFunction<void()> wait = std::exchange(wait_, nullptr);
  wait();
  keep_.clear();
}

Comm::Comm(GroupPtr group, Device device)
    : group_(group ? std::move(group) : collectives_of()), device_(device) {}

int Comm::rank() const { return group_->rank(); }
int Comm::size() const { return group_->size(); }

Pending Comm::all_reduce(const Tensor& t) const { return {group_->all_reduce(t), {t}}; }
Pending Comm::broadcast(const Tensor& t, int root) const {
  return {group_->broadcast(t, root), {t}};
}
Pending Comm::all_gather(const Tensor& out, const Tensor& in) const {
  return {group_->all_gather(out, in), {out, in}};
}
Pending Comm::reduce_scatter(const Tensor& out, const Tensor& in) const {
  return {group_->reduce_scatter(out, in), {out, in}};
}
void Comm::barrier() const { all_gather_numbers({0}); }

std::vector<std::vector<int64_t>> Comm::all_gather_numbers(const std::vector<int64_t>& mine) const {
  const NoGradGuard no_grad;
  const auto n = static_cast<int64_t>(mine.size());
  const Tensor in = tensor(mine, kLong).to(device_);
  const Tensor out = empty({n * size()}, in.options());
  all_gather(out, in).wait();
  const Tensor host = out.cpu();
  const auto* at = host.const_data_ptr<int64_t>();
  std::vector<std::vector<int64_t>> numbers;
  numbers.reserve(static_cast<std::size_t>(size()));
  for (int r = 0; r < size(); ++r) numbers.emplace_back(at + r * n, at + (r + 1) * n);
  return numbers;
}

std::vector<std::string> Comm::all_gather_text(const std::string& text) const {
  const NoGradGuard no_grad;
  const auto lengths = all_gather_numbers({static_cast<int64_t>(text.size())});
  int64_t longest = 0;
  for (const auto& l : lengths) longest = std::max(longest, l[0]);
  std::vector<std::string> texts(lengths.size());
  if (longest == 0) return texts;
  const Tensor mine = zeros({longest}, kByte);
  std::memcpy(mine.data_ptr<uint8_t>(), text.data(), text.size());
  const Tensor in = mine.to(device_), out = empty({longest * size()}, in.options());
  all_gather(out, in).wait();
  const Tensor host = out.cpu();
  const auto* at = reinterpret_cast<const char*>(host.const_data_ptr<uint8_t>());
  for (std::size_t r = 0; r < texts.size(); ++r) {
    texts[r].assign(at + static_cast<int64_t>(r) * longest,
                    static_cast<std::size_t>(lengths[r][0]));
  }
  return texts;
}

std::string Comm::broadcast_text(const std::string& text, int root) const {
  const NoGradGuard no_grad;
  const Tensor length = tensor(std::vector<int64_t>{static_cast<int64_t>(text.size())}, kLong);
  const Tensor sent_length = length.to(device_);
  broadcast(sent_length, root).wait();
  const int64_t n = sent_length.cpu().item<int64_t>();
  if (n == 0) return {};
  const Tensor bytes = zeros({n}, kByte);
  if (rank() == root) std::memcpy(bytes.data_ptr<uint8_t>(), text.data(), text.size());
  const Tensor sent = bytes.to(device_);
  broadcast(sent, root).wait();
  const Tensor host = sent.cpu();
  return {reinterpret_cast<const char*>(host.const_data_ptr<uint8_t>()),
          static_cast<std::size_t>(n)};
}

}  // namespace tenon::distributed
