// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A group over gloo.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace c10d {

inline constexpr const char* GLOO_BACKEND_NAME = "gloo";

class ProcessGroupGloo : public ::tenon::distributed::ProcessGroup {
 public:
  // An address of this machine.
  struct Device {
    std::string host;
  };
  struct Options : ::tenon::distributed::ProcessGroupOptions {
    explicit Options(std::chrono::milliseconds t = kBackendDefaultTimeout) { timeout = t; }
    static std::shared_ptr<Options> create(std::chrono::milliseconds t = kBackendDefaultTimeout) {
      return std::make_shared<Options>(t);
    }
    std::vector<std::shared_ptr<Device>> devices;  // none, or one: the default
    int threads = 2;                               // the engine has its own number
  };

  ProcessGroupGloo(const std::shared_ptr<::tenon::distributed::Store>& store, int rank, int size,
                   const std::shared_ptr<Options>& options = Options::create())
      : ProcessGroup(store, rank, size, checked(*options)) {}

  // ValueError unless it is the address that the engine uses: TENON_GLOO_HOST, or else 127.0.0.1.
  static std::shared_ptr<Device> createDeviceForHostname(const std::string& hostname,
                                                         bool /*lazyInit*/ = false) {
    const std::string used = default_host();
    const bool same = hostname == used || (hostname == "localhost" && used == "127.0.0.1");
    TENON_CHECK(same, ValueError, "ProcessGroupGloo: the device '", hostname,
                "' is not the address that gloo uses, ", used, "; set TENON_GLOO_HOST");
    return std::make_shared<Device>(Device{used});
  }
  static std::shared_ptr<Device> createDeviceForInterface(const std::string& interface,
                                                          bool lazyInit = false) {
    return createDeviceForHostname(interface == "lo" ? "127.0.0.1" : interface, lazyInit);
  }
  static std::shared_ptr<Device> createDefaultDevice(bool lazyInit = false) {
    return createDeviceForHostname(default_host(), lazyInit);
  }

 private:
  static std::string default_host() {
    const char* host = std::getenv("TENON_GLOO_HOST");
    return host && *host ? host : "127.0.0.1";
  }
  static ::tenon::distributed::ProcessGroupOptions checked(const Options& o) {
    TENON_CHECK(o.devices.size() < 2, ValueError, "ProcessGroupGloo: ", o.devices.size(),
                " devices; expected one");
    TENON_CHECK(o.backend == "gloo", ValueError, "ProcessGroupGloo: the backend is '", o.backend,
                "'");
    return o;
  }
};

}  // namespace c10d
