// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "ranks.h"
#include "tenon/tenon.h"

namespace tenon::distributed::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kTimeout = std::chrono::seconds(10);

[[noreturn]] void fail(int rank, const std::string& why) {
  throw Error("rank " + std::to_string(rank) + " " + why);
}

struct Transfer {
  const char* out = nullptr;
  char* in = nullptr;
  std::size_t to_send = 0, to_receive = 0;
};

class SocketGroup final : public CollectiveGroup {
 public:
  SocketGroup(const std::string& name, std::vector<int> members, int self)
      : members_(std::move(members)), peers_(members_.size(), -1) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_[i] == self) rank_ = static_cast<int>(i);
    }
    meet(shared_folder() + "/" + name);
    worker_ = std::thread([this] { work(); });
  }
  ~SocketGroup() override {
    {
      const std::lock_guard held(lock_);
      ending_ = true;
    }
    changed_.notify_all();
    worker_.join();
    for (const int fd : peers_) {
      if (fd >= 0) close(fd);
    }
  }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }

  Wait all_reduce(const Tensor& t) override {
    return start([this, t] {
      const NoGradGuard no_grad;
      t.copy_(sum_of(t));
    });
  }
  Wait broadcast(const Tensor& t, int root) override {
    return start([this, t, root] {
      auto* data = static_cast<char*>(t.data_ptr());
      std::vector<Transfer> all(peers_.size());
      if (rank_ == root) {
        for (Transfer& x : all) x = {data, nullptr, t.nbytes(), 0};
      } else {
        all[static_cast<std::size_t>(root)] = {nullptr, data, 0, t.nbytes()};
      }
      exchange(all);
    });
  }
  Wait all_gather(const Tensor& out, const Tensor& in) override {
    return start([this, out, in] { gather(out, in); });
  }
  Wait reduce_scatter(const Tensor& out, const Tensor& in) override {
    return start([this, out, in] {
      const NoGradGuard no_grad;
      out.copy_(sum_of(in).narrow(0, out.numel() * rank_, out.numel()));
    });
  }

 private:
  void gather(const Tensor& out, const Tensor& in) {
    auto* to = static_cast<char*>(out.data_ptr());
    const auto* from = static_cast<const char*>(in.const_data_ptr());
    std::vector<Transfer> all(peers_.size());
    for (std::size_t r = 0; r < all.size(); ++r)
      all[r] = {from, to + r * in.nbytes(), in.nbytes(), in.nbytes()};
    std::memcpy(to + static_cast<std::size_t>(rank_) * in.nbytes(), from, in.nbytes());
    exchange(all);
  }

  Tensor sum_of(const Tensor& t) {
    const Tensor flat = t.reshape({-1});
    const Tensor all = empty({flat.numel() * size()}, flat.options().requires_grad(false));
    gather(all, flat);
    Tensor sum = all.narrow(0, 0, flat.numel()).clone();
    for (int r = 1; r < size(); ++r) sum.add_(all.narrow(0, flat.numel() * r, flat.numel()));
    return sum.view(t.sizes());
  }

  Wait start(std::function<void()> f) {
    auto task = std::make_shared<std::packaged_task<void()>>(std::move(f));
    std::shared_future<void> done = task->get_future().share();
    {
      const std::lock_guard held(lock_);
      tasks_.push_back([task] { (*task)(); });
    }
    changed_.notify_all();
    return [done] { done.get(); };
  }

  void work() {
    while (true) {
      std::unique_lock held(lock_);
      changed_.wait(held, [this] { return ending_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      held.unlock();
      task();
    }
  }

  void exchange(std::vector<Transfer>& all) {
    const auto until = Clock::now() + kTimeout;
    while (true) {
      std::vector<pollfd> fds;
      std::vector<std::size_t> ranks;
      for (std::size_t r = 0; r < all.size(); ++r) {
        if (peers_[r] < 0 || (all[r].to_send == 0 && all[r].to_receive == 0)) continue;
        const int events =
            (all[r].to_send > 0 ? POLLOUT : 0) | (all[r].to_receive > 0 ? POLLIN : 0);
        fds.push_back({peers_[r], static_cast<int16_t>(events), 0});
        ranks.push_back(r);
      }
      if (fds.empty()) return;
      poll(fds.data(), fds.size(), 100);
      for (std::size_t i = 0; i < fds.size(); ++i) {
        if (fds[i].revents != 0) move(ranks[i], all[ranks[i]]);
      }
      if (Clock::now() > until) fail(members_[ranks[0]], "does not answer");
    }
  }

  void move(std::size_t r, Transfer& x) {
    if (x.to_send > 0) {
      const ssize_t n = ::send(peers_[r], x.out, x.to_send, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno != EAGAIN) fail(members_[r], "has ended");
      if (n > 0) x.out += n, x.to_send -= static_cast<std::size_t>(n);
    }
    if (x.to_receive > 0) {
      const ssize_t n = ::recv(peers_[r], x.in, x.to_receive, MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN)) fail(members_[r], "has ended");
      if (n > 0) x.in += n, x.to_receive -= static_cast<std::size_t>(n);
    }
  }

  static sockaddr_un address_of(const std::string& base, std::size_t rank) {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    std::snprintf(a.sun_path, sizeof a.sun_path, "%s.%zu", base.c_str(), rank);
    return a;
  }

  // Each listens, connects to those before it, and accepts those after it.
  void meet(const std::string& base) {
    const auto until = Clock::now() + kTimeout;
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto self = static_cast<std::size_t>(rank_);
    const sockaddr_un mine = address_of(base, self);
    if (bind(listener, reinterpret_cast<const sockaddr*>(&mine), sizeof mine) != 0 ||
        listen(listener, 16) != 0)
      throw Error("cannot listen at " + std::string(mine.sun_path));
    for (std::size_t r = 0; r < self; ++r) {
      const sockaddr_un to = address_of(base, r);
      peers_[r] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      while (connect(peers_[r], reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
        if (Clock::now() > until) fail(members_[r], "did not come");
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      const auto rank = static_cast<char>(rank_);
      if (::send(peers_[r], &rank, 1, MSG_NOSIGNAL) != 1) fail(members_[r], "has ended");
    }
    for (std::size_t r = self + 1; r < peers_.size(); ++r) {
      pollfd p{listener, POLLIN, 0};
      if (poll(&p, 1, 10000) != 1) throw Error("a rank did not come");
      const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      char rank = 0;
      if (::recv(fd, &rank, 1, 0) != 1) throw Error("a rank has ended");
      peers_[static_cast<std::size_t>(rank)] = fd;
    }
    close(listener);
  }

  const std::vector<int> members_;
  int rank_ = 0;
  std::vector<int> peers_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
  std::thread worker_;
};

}  // namespace

GroupPtr make_group(const std::string& name, const std::vector<int>& members) {
  return std::make_shared<SocketGroup>(name, members, std::stoi(getenv("TENON_TEST_RANK")));
}

}  // namespace tenon::distributed::test
