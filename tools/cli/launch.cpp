// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <thread>

#include "launch_process.h"
#include "tenon/runtime/error.h"

namespace tenon::command {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kTimedOut = 124;    // as of timeout(1)
constexpr int kCloseAfter = 200;  // milliseconds for output that others hold open at the end

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// One that nobody listens at. It is free again when this returns, and another program may take it
// before rank 0 does: rank 0 then says that the address is in use.
int free_port() {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* at = reinterpret_cast<sockaddr*>(&address);
  const bool found = s >= 0 && bind(s, at, size) == 0 && getsockname(s, at, &size) == 0;
  const int error = errno;
  if (s >= 0) close(s);
  TENON_CHECK(found, Error, "launch: cannot find a free port: ", std::string(std::strerror(error)));
  return ntohs(address.sin_port);
}

struct Master {
  std::string address, port;
};

Master master_of(const LaunchOptions& o) {
  if (o.master.empty()) {
    TENON_CHECK(o.nodes == 1, ValueError, "launch: --nodes ", o.nodes,
                " needs --master ADDR:PORT, the same for all nodes");
    return {"127.0.0.1", std::to_string(free_port())};
  }
  const std::size_t colon = o.master.rfind(':');
  const std::string port = colon == std::string::npos ? "" : o.master.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 &&
                      port.find_first_not_of("0123456789") == std::string::npos;
  TENON_CHECK(digits && colon > 0 && std::stoi(port) > 0 && std::stoi(port) < 65536, ValueError,
              "launch: --master '", o.master, "' is not ADDR:PORT with a port from 1 to 65535");
  std::string address = o.master.substr(0, colon);
  if (address.size() > 2 && address.front() == '[' && address.back() == ']')
    address = address.substr(1, address.size() - 2);  // IPv6
  return {address, port};
}

class Launch {
 public:
  explicit Launch(const LaunchOptions& options) : o_(options) {
    sigset_t handled;
    sigemptyset(&handled);
    for (int s : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&handled, s);
    sigprocmask(SIG_BLOCK, &handled, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // what ranks leave behind is ours to end
    signals_ = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
    TENON_CHECK(signals_ >= 0, Error,
                "launch: cannot receive signals: ", std::string(std::strerror(errno)));
  }
  Launch(const Launch&) = delete;
  ~Launch() {
    for (RankProcess& p : ranks_) {
      if (!p.ended()) p.signal(SIGKILL);
    }
    close(signals_);
  }

  int run() {
    start();
    if (o_.timeout > 0) deadline_ = after(o_.timeout);
    while (!all_ended()) {
      wait_for_news();
      look_at_ranks();
      look_at_clock();
    }
    if (ending_) {
      for (RankProcess& p : ranks_) p.end_left_behind();
    }
    drain();
    if (status_ == 0 && interrupted_ != 0) status_ = 128 + interrupted_;
    return status_;
  }

 private:
  void start() {
    const Master master = master_of(o_);
    std::map<std::string, std::string> env = {
        {"MASTER_ADDR", master.address},
        {"MASTER_PORT", master.port},
        {"WORLD_SIZE", std::to_string(o_.nodes * o_.processes)},
        {"LOCAL_WORLD_SIZE", std::to_string(o_.processes)},
        {"NODE_RANK", std::to_string(o_.node_rank)}};
    if (std::getenv("TENON_NUM_THREADS") == nullptr) {
      const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
      env["TENON_NUM_THREADS"] = std::to_string(std::max(1, cores / o_.processes));
    }
    for (int i = 0; i < o_.processes; ++i) {
      const int rank = o_.node_rank * o_.processes + i;
      env["RANK"] = std::to_string(rank);
      env["LOCAL_RANK"] = std::to_string(i);
      ranks_.emplace_back().start(rank, o_.program, env, o_.prefix);
    }
  }

  bool all_ended() {
    return std::all_of(ranks_.begin(), ranks_.end(), [](RankProcess& p) { return p.ended(); });
  }

  void wait_for_news() {
    std::vector<pollfd> fds = {{signals_, POLLIN, 0}};
    std::vector<LinePipe*> pipes = {nullptr};
    for (RankProcess& p : ranks_) {
      for (LinePipe* l : {&p.out, &p.err}) {
        if (l->fd() < 0) continue;
        fds.push_back({l->fd(), POLLIN, 0});
        pipes.push_back(l);
      }
    }
    const std::optional<Clock::time_point> next = kill_at_ ? kill_at_ : deadline_;
    int wait = -1;
    if (next) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
      wait = static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
    }
    if (poll(fds.data(), fds.size(), wait) < 0) return;  // a signal; all is looked at again
    for (std::size_t i = 1; i < fds.size(); ++i) {
      if (fds[i].revents != 0 && !pipes[i]->pump()) end_all(SIGTERM);
    }
    signalfd_siginfo s;
    while (read(signals_, &s, sizeof s) == sizeof s) {
      if (s.ssi_signo != SIGCHLD) interrupt(static_cast<int>(s.ssi_signo));
    }
  }

  // Passed on; a second one ends the ranks at once.
  void interrupt(int number) {
    end_all(interrupted_ == 0 ? number : SIGKILL);
    interrupted_ = number;
  }

  void look_at_ranks() {
    for (RankProcess& p : ranks_) {
      if (!p.ended() || p.failure().empty() || ending_) continue;
      status_ = p.exit_status();
      say(core::join("rank ", p.rank(), " (process ", p.pid(), ") ", p.failure(), others()));
      end_all(SIGTERM);
    }
  }

  void look_at_clock() {
    if (kill_at_ && Clock::now() >= *kill_at_) {
      for (RankProcess& p : ranks_) {
        if (!p.ended()) p.signal(SIGKILL);
      }
      kill_at_.reset();
      deadline_.reset();
    } else if (deadline_ && !ending_ && Clock::now() >= *deadline_) {
      status_ = kTimedOut;
      say(core::join("not finished after ", o_.timeout, " s", others()));
      end_all(SIGTERM);
    }
  }

  std::string others() {
    std::string out;
    for (RankProcess& p : ranks_) {
      if (!p.ended()) out += (out.empty() ? "" : ", ") + std::to_string(p.rank());
    }
    return out.empty() ? out : "; the ranks that still ran are ended: " + out;
  }

  void end_all(int number) {
    for (RankProcess& p : ranks_) {
      if (!p.ended()) p.signal(number);
    }
    if (!ending_) kill_at_ = after(o_.grace);
    ending_ = true;
  }

  // A process that a rank has left behind may hold the pipes open.
  void drain() {
    const auto until = Clock::now() + std::chrono::milliseconds(kCloseAfter);
    for (RankProcess& p : ranks_) {
      for (LinePipe* l : {&p.out, &p.err}) {
        while (l->fd() >= 0 && l->pump() && l->fd() >= 0 && Clock::now() < until) {
          pollfd one{l->fd(), POLLIN, 0};
          poll(&one, 1, 10);
        }
        l->finish();
      }
    }
  }

  static void say(const std::string& text) {
    std::fprintf(stderr, "tenon launch: %s\n", text.c_str());
  }

  const LaunchOptions& o_;
  std::deque<RankProcess> ranks_;
  int signals_ = -1, status_ = 0, interrupted_ = 0;
  bool ending_ = false;
  std::optional<Clock::time_point> deadline_, kill_at_;
};

}  // namespace

int launch(const LaunchOptions& given) {
  LaunchOptions o = given;
  if (!o.program.empty() && o.program[0] == "--") o.program.erase(o.program.begin());
  TENON_CHECK(!o.program.empty(), ValueError, "launch: which program? tenon launch -n 4 ./train");
  TENON_CHECK(o.program[0][0] != '-', ValueError, "launch: unknown option '", o.program[0],
              "'; tenon launch --help lists them");
  TENON_CHECK(o.node_rank < o.nodes, ValueError, "launch: --node-rank ", o.node_rank,
              " is not below --nodes ", o.nodes);
  return Launch(o).run();
}

}  // namespace tenon::command
