// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Each process says its number by multicast, over and over, until it has heard those of all. The
// one with the lowest number then serves a store and says where; the others take its word, and
// their ranks from the order of numbers.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "distributed/group/meeting.h"
#include "distributed/store/secret.h"
#include "distributed/store/socket.h"
#include "runtime/base/settings.h"
#include "tenon/distributed/tcp_store.h"

namespace tenon::distributed {
namespace {

constexpr char kWord[8] = {'T', 'N', 'M', 'E', 'E', 'T', '1', 0};
constexpr auto kPeriod = std::chrono::milliseconds(30);

struct Datagram {
  char word[8];
  char group[96];  // its end zeros
  int32_t world_size, rank;
  uint32_t port;  // of the store, once there is one
  uint32_t unused;
  Nonce number;
};

struct Channel {
  Channel(const std::string& host, uint16_t port) {
    socket = Socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    TENON_CHECK(inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1, ValueError,
                "init_process_group: '", host, "' is not a valid multicast address");
    const std::string own = core::setting("DISTRIBUTED_INTERFACE");
    ip_mreq membership{};
    membership.imr_multiaddr = address.sin_addr;
    inet_pton(AF_INET, own.empty() ? "127.0.0.1" : own.c_str(), &membership.imr_interface);
    const int on = 1;
    const bool ready =
        setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        ::bind(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
        setsockopt(socket.fd(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership) ==
            0 &&
        setsockopt(socket.fd(), IPPROTO_IP, IP_MULTICAST_IF, &membership.imr_interface,
                   sizeof membership.imr_interface) == 0;
    TENON_CHECK(ready, BackendError, "init_process_group: multicast at ", host, ":",
                static_cast<int>(port), " cannot be used: ", std::string(std::strerror(errno)));
  }
  void say(const Datagram& d) {
    (void)::sendto(socket.fd(), &d, sizeof d, 0, reinterpret_cast<sockaddr*>(&address),
                   sizeof address);
  }
  // False: nothing came in time.
  bool hear(Datagram* d, std::string* sender) {
    pollfd p{socket.fd(), POLLIN, 0};
    if (::poll(&p, 1, static_cast<int>(kPeriod.count())) <= 0) return false;
    sockaddr_in from{};
    socklen_t n = sizeof from;
    if (::recvfrom(socket.fd(), d, sizeof *d, 0, reinterpret_cast<sockaddr*>(&from), &n) !=
        static_cast<ssize_t>(sizeof *d))
      return true;
    char text[INET_ADDRSTRLEN] = {};
    *sender = inet_ntop(AF_INET, &from.sin_addr, text, sizeof text) ? text : "";
    return true;
  }
  Socket socket;
  sockaddr_in address{};
};

bool of_group(const Datagram& d, const Datagram& mine) {
  return std::memcmp(d.word, kWord, sizeof kWord) == 0 &&
         std::memcmp(d.group, mine.group, sizeof d.group) == 0;
}

TCPStoreOptions options_of(std::chrono::milliseconds timeout) {
  TCPStoreOptions o;
  o.timeout = timeout;
  o.secret = core::setting("DISTRIBUTED_SECRET");
  return o;
}

}  // namespace

Meeting meet_by_multicast(const std::string& host, uint16_t port, int world_size, int rank,
                          const std::string& group, std::chrono::milliseconds timeout) {
  TENON_CHECK(world_size > 0, ValueError, "init_process_group: world_size is required");
  TENON_CHECK(rank < world_size, ValueError, "init_process_group: rank ", rank,
              " is not below world_size ", world_size);
  Datagram mine{{}, {}, world_size, rank, 0, 0, make_nonce()};
  std::memcpy(mine.word, kWord, sizeof kWord);
  TENON_CHECK(group.size() < sizeof mine.group, ValueError, "init_process_group: group_name of ",
              group.size(), " bytes; at most ", sizeof mine.group - 1, " fit");
  std::memcpy(mine.group, group.data(), group.size());
  Channel channel(host, port);
  const Deadline end = deadline_of(timeout);
  std::map<Nonce, std::string> members = {{mine.number, ""}};
  std::shared_ptr<TCPStore> store;
  const auto all = static_cast<std::size_t>(world_size);
  while (!store) {
    channel.say(mine);
    Datagram d{};
    std::string sender;
    for (int i = 0; !store && i < 4 * world_size && channel.hear(&d, &sender); ++i) {
      if (!of_group(d, mine)) continue;
      TENON_CHECK(d.world_size == world_size, ValueError, "init_process_group: world_size is ",
                  world_size, ", and ", d.world_size, " for another process of group '", group,
                  "'");
      if (members.size() < all) members.emplace(d.number, sender);
      if (d.port != 0 && members.size() == all && d.number == members.begin()->first &&
          d.number != mine.number) {
        TCPStoreOptions o = options_of(timeout);
        o.port = static_cast<uint16_t>(d.port);
        store = std::make_shared<TCPStore>(sender, o);
      }
    }
    if (!store && members.size() == all && members.begin()->first == mine.number) {
      TCPStoreOptions o = options_of(timeout);
      o.port = 0;
      o.isServer = true;
      const std::string own = core::setting("DISTRIBUTED_INTERFACE");
      store = std::make_shared<TCPStore>(own.empty() ? "127.0.0.1" : own, o);
      mine.port = store->getPort();
    }
    if (!store && std::chrono::steady_clock::now() >= end)
      throw TimeoutError(core::join("init_process_group: ", members.size(), " of ", world_size,
                                    " processes came to ", host, ":", static_cast<int>(port),
                                    " within ", static_cast<long>(timeout.count()), " ms"));
  }
  // Those who are connected go on saying who they are until all are: others may not have heard
  // them.
  bool complete = store->add("multicast/came", 1) >= world_size;
  if (complete) store->set("multicast/all", "1");
  while (!store->check({"multicast/all"})) {
    channel.say(mine);
    ::usleep(10000);
    if (std::chrono::steady_clock::now() >= end)
      throw TimeoutError("init_process_group: not all processes found the store by multicast");
  }
  if (rank < 0) {
    int place = 0;
    for (auto at = members.begin(); at->first != mine.number; ++at) ++place;
    rank = place;
  }
  return {store, rank, world_size};
}

}  // namespace tenon::distributed
