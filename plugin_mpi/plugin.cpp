// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <algorithm>
#include <string>

#include "plugin_mpi/group.h"
#include "plugin_mpi/process.h"
#include "tenon/sdk/plugin.h"

namespace tenon::mpi_engine {
namespace {

struct Engine : sdk::CollectiveEngine<Group> {
  static bool supports(int32_t operation, int32_t reduction, tn_dtype dtype,
                       std::string_view device) {
    if (device != "cpu" || operation < 0 || operation > TN_COLLECTIVE_RECV) return false;
    if (sdk::is_reduction(operation)) return has_reduction(dtype, reduction);
    return operation == TN_COLLECTIVE_BARRIER || datatype_of(dtype) != MPI_DATATYPE_NULL;
  }
  static std::pair<int32_t, int32_t> world() { return mpi_engine::world(); }
};

constexpr tn_ext_collective kCollective = sdk::collective_functions<Engine>();

// Of the library that is mapped. Kept until the process ends.
tn_str describe() {
  static const auto* text = [] {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    auto* out = new std::string(version, static_cast<size_t>(length));
    out->resize(std::min(out->size(), out->find(',')));
    return out;
  }();
  return {text->data(), text->size()};
}

}  // namespace
}  // namespace tenon::mpi_engine

TN_PLUGIN(tenon::sdk::PluginInfo{}
              .name("mpi")
              .device("none")
              .host_memory()
              .ext(&tenon::mpi_engine::kCollective.head)
              .describe(&tenon::mpi_engine::describe));
