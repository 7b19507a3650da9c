// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/group/liveness.h"

#include <algorithm>
#include <sstream>

#include "distributed/store/bytes.h"
#include "runtime/base/block_signals.h"

namespace tenon::distributed {
namespace {

constexpr std::chrono::milliseconds kAnswer = std::chrono::seconds(1);
const char kCause[] = "cause";
const char kOther[] = "other";      // the first number under which ranks had other operations
constexpr uint64_t kLookAfter = 5;  // periods that a collective waits
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
  beats_->set(key_of(rank_), "0\n" + recent_text());
  const core::BlockSignals blocked;
  thread_ = std::thread([this] { run(); });
}

Liveness::~Liveness() {
  {
    std::lock_guard held(lock_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Liveness::watch(std::function<void()> abort) {
  std::lock_guard held(lock_);
  abort_ = std::move(abort);
}

void Liveness::begin(Fingerprint operation, uint64_t number) {
  std::lock_guard held(lock_);
  now_ = {number, true};
  recent_[number % kRecent] = std::move(operation);
}

void Liveness::end(uint64_t number) {
  std::lock_guard held(lock_);
  if (now_.number == number) now_.waits = false;
}

// "NUMBER KEY TEXT\n", the last one first. Under lock_.
std::string Liveness::recent_text() const {
  std::string out;
  for (uint64_t i = 0; i < kRecent && i <= now_.number; ++i) {
    const uint64_t number = now_.number - i;
    const Fingerprint& f = recent_[number % kRecent];
    out += core::join(number, " ", f.key(), " ", f.text(), "\n");
  }
  return out;
}

const Liveness::Came* Liveness::Sign::find(uint64_t number) const {
  const auto at =
      std::find_if(recent.begin(), recent.end(), [&](const Came& c) { return c.number == number; });
  return at == recent.end() ? nullptr : &*at;
}

void Liveness::run() {
  uint64_t number = 0, waited = 0, next = kLookAfter;
  bool answers = true;
  for (uint64_t beat = 1;; ++beat) {
    bool last = false;
    Waiting now;
    Fingerprint operation;
    std::string recent;
    {
      std::unique_lock held(lock_);
      last = changed_.wait_for(held, period_, [&] { return stop_; });
      now = now_;
      operation = recent_[now.number % kRecent];
      recent = recent_text();
    }
    if (last && !answers) return;
    try {
      beats_->set(key_of(rank_), (last ? "left" : std::to_string(beat)) + "\n" + recent);
      answers = true;
    } catch (const Error&) {  // diagnose says that the store does not answer
      answers = false;
    }
    if (last) return;
    if (!now.waits || now.number != number) {
      number = now.number;
      waited = 0;
      next = kLookAfter;
    } else if (++waited == next) {
      next *= 2;  // many ranks that wait for a slow one ask the store less and less
      look_for_cause(now.number, operation);
    }
  }
}

// Of ranks that are gone others know first, whose connections break.
void Liveness::look_for_cause(uint64_t number, const Fingerprint& operation) {
  try {
    if (find_other(*beats_, listen(*beats_), number, operation).ranks.empty() &&
        find_earlier_other(*beats_, number).ranks.empty() && !beats_->check({kCause}))
      return;
    std::unique_lock held(lock_);
    const auto abort = abort_;
    held.unlock();
    if (abort) abort();
  } catch (const Error&) {  // the operation ends at its timeout
  }
}

std::vector<Liveness::Sign> Liveness::listen(Store& store) const {
  std::vector<Sign> out(static_cast<std::size_t>(size_));
  for (int r = 0; r < size_; ++r) {
    Sign& sign = out[static_cast<std::size_t>(r)];
    if (!store.check({key_of(r)})) continue;
    std::istringstream in(store.get_to_str(key_of(r)));
    in >> sign.beat;
    for (Came c; in >> c.number >> c.key >> std::ws && std::getline(in, c.operation);)
      sign.recent.push_back(c);
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

Liveness::Verdict Liveness::find_gone(const std::vector<int>& silent) {
  Verdict v;
  // "3 1": those that the first rank to ask found.
  std::string found;
  for (int r : silent) found += core::join(r, " ");
  if (!found.empty())
    found = store_->compareSet(kCause, "", found);
  else if (store_->check({kCause}))
    found = store_->get_to_str(kCause);
  std::istringstream first(found);
  for (int r; first >> r;) v.ranks.push_back(r);
  if (v.ranks.empty()) return v;
  v.text = core::join(list_of(v.ranks), v.ranks.size() == 1 ? " is" : " are",
                      " not alive or not in the group any more");
  if (std::find(v.ranks.begin(), v.ranks.end(), rank_) != v.ranks.end())
    v.text = "this rank did not answer for a while, and the others gave it up";
  return v;
}

Liveness::Verdict Liveness::find_behind(const std::vector<Sign>& last, uint64_t number) const {
  Verdict v;
  for (int r = 0; r < size_; ++r) {
    const Sign& sign = last[static_cast<std::size_t>(r)];
    if (r == rank_ || sign.number() >= number) continue;
    v.ranks.push_back(r);
    v.text += core::join(v.text.empty() ? "" : "; ", "rank ", r,
                         " is alive and has not come to it: its last operation is ",
                         sign.recent.empty() ? "unknown" : sign.recent[0].operation, ", number ",
                         sign.number());
  }
  return v;
}

// What is found is kept in the store as "RANK RANK ...\nTEXT", as ranks that end on the error are
// soon gone.
static std::string place_of(uint64_t number) { return core::join(kOther, "/", number); }

static Liveness::Verdict verdict_of(const std::string& found) {
  Liveness::Verdict v;
  std::istringstream in(found);
  std::string ranks;
  std::getline(in, ranks);
  std::getline(in, v.text);
  std::istringstream each(ranks);
  for (int r; each >> r;) v.ranks.push_back(r);
  return v;
}

Liveness::Verdict Liveness::find_other(Store& store, const std::vector<Sign>& last, uint64_t number,
                                       const Fingerprint& operation) const {
  std::vector<std::string> keys, texts;
  for (int r = 0; r < size_; ++r) {
    const Came* theirs = last[static_cast<std::size_t>(r)].find(number);
    keys.push_back(r == rank_ ? operation.key() : theirs ? theirs->key : "");
    texts.push_back(r == rank_ ? operation.text() : theirs ? theirs->operation : "");
  }
  const Mismatch m = compare_ranks(keys, texts);
  std::string found;
  for (int r : m.ranks) found += core::join(r, " ");
  if (!found.empty()) {
    found = store.compareSet(place_of(number), "", found + "\n" + m.text);
    store.compareSet(kOther, "", std::to_string(number));
  } else if (store.check({place_of(number)})) {
    found = store.get_to_str(place_of(number));
  }
  Verdict v = verdict_of(found);
  if (!v.ranks.empty()) v.text = "it is not the same on all ranks: " + v.text;
  return v;
}

// Of a rank that has gone on, as one that sends and waits for nothing.
Liveness::Verdict Liveness::find_earlier_other(Store& store, uint64_t number) const {
  if (!store.check({kOther})) return {};
  const std::string first = store.get_to_str(kOther);
  if (std::stoull(first) >= number) return {};
  Verdict v = verdict_of(store.get_to_str(place_of(std::stoull(first))));
  v.text = core::join("operation number ", first, " was not the same on all ranks: ", v.text);
  return v;
}

Liveness::Verdict Liveness::diagnose(uint64_t number, const Fingerprint& operation) {
  try {
    std::vector<Sign> last;
    const std::vector<int> gone = silent(*store_, &last);
    Verdict v;
    if (Fingerprint::is_collective(operation.operation))
      v = find_other(*store_, last, number, operation);
    if (v.ranks.empty()) v = find_earlier_other(*store_, number);
    if (v.ranks.empty()) v = find_gone(gone);
    if (v.ranks.empty()) v = find_behind(last, number);
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
