// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/group/meeting.h"

#include <charconv>
#include <cstdlib>

#include "runtime/base/settings.h"
#include "tenon/distributed/file_store.h"
#include "tenon/distributed/tcp_store.h"

namespace tenon::distributed {
namespace {

int integer_of(const std::string& what, const std::string& text, int min, int max) {
  int v = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), v);
  TENON_CHECK(fault == std::errc() && end == text.data() + text.size() && v >= min && v <= max,
              ValueError, "init_process_group: ", what, " is '", text,
              "'; expected an integer from ", min, " to ", max);
  return v;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  TENON_CHECK(value && *value, ValueError, "init_process_group: environment variable ", name,
              " is required by env://");
  return value;
}

void check_place(int world_size, int rank) {
  TENON_CHECK(world_size > 0, ValueError, "init_process_group: world_size is required");
  TENON_CHECK(rank >= 0, ValueError, "init_process_group: rank is required");
  TENON_CHECK(rank < world_size, ValueError, "init_process_group: rank ", rank,
              " is not below world_size ", world_size);
}

Meeting meet_at(const std::string& host, uint16_t port, int world_size, int rank,
                std::chrono::milliseconds timeout) {
  check_place(world_size, rank);
  TCPStoreOptions o;
  o.port = port;
  o.isServer = rank == 0;
  o.timeout = timeout;
  o.secret = core::setting("DISTRIBUTED_SECRET");
  return {std::make_shared<TCPStore>(host, o), rank, world_size};
}

Meeting meet_by_environment(int world_size, int rank, std::chrono::milliseconds timeout) {
  const std::string host = variable("MASTER_ADDR");
  const int port = integer_of("MASTER_PORT", variable("MASTER_PORT"), 1, 65535);
  if (world_size < 0) world_size = integer_of("WORLD_SIZE", variable("WORLD_SIZE"), 1, 1 << 20);
  if (rank < 0) rank = integer_of("RANK", variable("RANK"), 0, 1 << 20);
  return meet_at(host, static_cast<uint16_t>(port), world_size, rank, timeout);
}

Meeting meet_in_file(const std::string& path, int world_size, int rank, const std::string& group,
                     std::chrono::milliseconds timeout) {
  TENON_CHECK(!path.empty() && path[0] == '/', ValueError, "init_process_group: file://", path,
              " has no absolute path");
  TENON_CHECK(world_size > 0, ValueError, "init_process_group: world_size is required by file://");
  // One file per group, so that each is removed by the last of its own ranks.
  const std::string file = group.empty() ? path : core::join(path, ".", group);
  auto store = std::make_shared<FileStore>(file, world_size, timeout);
  if (rank < 0) rank = static_cast<int>(store->add("init/rank", 1) - 1);
  check_place(world_size, rank);
  return {store, rank, world_size};
}

}  // namespace

Meeting meet(const std::string& method, int world_size, int rank, const std::string& group,
             std::chrono::milliseconds timeout) {
  if (method.empty() || method == "env://") return meet_by_environment(world_size, rank, timeout);
  if (method.rfind("file://", 0) == 0)
    return meet_in_file(method.substr(7), world_size, rank, group, timeout);
  if (method == "mpi://") return meet_by_mpi(world_size, rank, timeout);
  TENON_CHECK(method.rfind("tcp://", 0) == 0, ValueError, "init_process_group: init_method '",
              method, "'; expected env://, tcp://HOST:PORT, file:///PATH or mpi://");
  std::string host = method.substr(6);
  const std::size_t colon = host.rfind(':');
  TENON_CHECK(colon != std::string::npos && colon > 0, ValueError, "init_process_group: '", method,
              "' has no port; expected tcp://HOST:PORT");
  const int port = integer_of("the port of init_method", host.substr(colon + 1), 1, 65535);
  host.resize(colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const int first = std::atoi(host.c_str());
  if (host.find_first_not_of("0123456789.") == std::string::npos && first >= 224 && first < 240)
    return meet_by_multicast(host, static_cast<uint16_t>(port), world_size, rank, group, timeout);
  return meet_at(host, static_cast<uint16_t>(port), world_size, rank, timeout);
}

}  // namespace tenon::distributed
