// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/group/liveness.h"

#include <signal.h>

#include <algorithm>
#include <sstream>

#include "distributed/store/bytes.h"

namespace tenon::distributed {
namespace {

constexpr std::chrono::milliseconds kAnswer = std::chrono::seconds(1);
std::string key_of(int rank) { return core::join("alive/", rank); }

std::string list_of(const std::vector<int>& ranks) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) out += core::join(i ? ", " : "", ranks[i]);
  return out;
}

}  // namespace

Liveness::Liveness(const std::shared_ptr<Store>& store, int rank, int size,
                   std::chrono::milliseconds period)
    : store_(store->clone()),
      beats_(store->clone()),
      rank_(rank),
      size_(size),
      period_(std::max(period, std::chrono::milliseconds(10))) {
  store_->setTimeout(kAnswer);
  beats_->setTimeout(kAnswer);
  beats_->set(key_of(rank_), "0 nothing 0");
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Liveness::~Liveness() {
  {
    std::lock_guard held(lock_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Liveness::begin(const char* operation, uint64_t number) {
  operation_ = operation;
  number_ = number;
}

void Liveness::run() {
  for (uint64_t beat = 1;; ++beat) {
    bool last = false;
    {
      std::unique_lock held(lock_);
      last = changed_.wait_for(held, period_, [&] { return stop_; });
    }
    try {
      const std::string sign = last ? std::string("left") : std::to_string(beat);
      beats_->set(key_of(rank_), core::join(sign, " ", operation_.load(), " ", number_.load()));
    } catch (const Error&) {  // diagnose says that the store does not answer
    }
    if (last) return;
  }
}

std::vector<Liveness::Sign> Liveness::listen(Store& store) const {
  std::vector<Sign> out(static_cast<std::size_t>(size_));
  for (int r = 0; r < size_; ++r) {
    Sign& sign = out[static_cast<std::size_t>(r)];
    if (!store.check({key_of(r)})) continue;
    std::istringstream in(store.get_to_str(key_of(r)));
    in >> sign.beat >> sign.operation >> sign.number;
  }
  return out;
}

std::vector<int> Liveness::silent(Store& store, std::vector<Sign>* last) const {
  const std::vector<Sign> before = listen(store);
  std::vector<int> out;
  for (int i = 0; i < 10; ++i) {  // ends early once all were heard
    std::this_thread::sleep_for(period_ / 2);
    *last = listen(store);
    out.clear();
    for (int r = 0; r < size_; ++r) {
      const auto at = static_cast<std::size_t>(r);
      const Sign& sign = (*last)[at];
      if (r != rank_ && (sign.beat == before[at].beat || sign.beat == "left")) out.push_back(r);
    }
    if (out.empty()) break;
  }
  return out;
}

std::vector<int> Liveness::dead() {
  try {
    std::vector<Sign> last;
    return silent(*store_, &last);
  } catch (const DistributedError&) {
    return rank_ == 0 ? std::vector<int>() : std::vector<int>{0};
  }
}

Liveness::Verdict Liveness::diagnose(uint64_t number) {
  try {
    std::vector<Sign> last;
    Verdict v;
    v.ranks = silent(*store_, &last);
    if (!v.ranks.empty()) {
      // "3 1": those that the first rank to ask found.
      std::string found;
      for (int r : v.ranks) found += core::join(r, " ");
      std::istringstream first(store_->compareSet("cause", "", found));
      v.ranks.clear();
      for (int r; first >> r;) v.ranks.push_back(r);
      v.text = core::join(list_of(v.ranks), v.ranks.size() == 1 ? " is" : " are",
                          " not alive or not in the group any more");
      return v;
    }
    for (int r = 0; r < size_; ++r) {
      const Sign& sign = last[static_cast<std::size_t>(r)];
      if (r == rank_ || sign.number >= number) continue;
      v.ranks.push_back(r);
      v.text += core::join(v.text.empty() ? "" : "; ", "rank ", r,
                           " is alive and has not come to it: its last operation is ",
                           sign.operation, ", number ", sign.number);
    }
    return v;
  } catch (const DistributedError& e) {
    Verdict v;
    if (rank_ != 0) v.ranks = {0};
    v.text = core::join("the store does not answer; rank 0, which serves it, is not alive (",
                        e.msg(), ")");
    return v;
  }
}

}  // namespace tenon::distributed
