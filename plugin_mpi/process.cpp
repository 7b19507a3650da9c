// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_mpi/process.h"

#include <dlfcn.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <stdexcept>

#include "tenon/sdk/collective_task.h"

namespace tenon::mpi_engine {
namespace {

std::atomic<bool> g_unfinished{false};
std::atomic<bool (*)()> g_before_end{nullptr};

// Parts of Open MPI that it opens itself name symbols of its libraries without linking to them, and
// the plugin was opened with local symbols.
void make_symbols_global() {
  Dl_info where{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &where) && where.dli_fname)
    dlopen(where.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

// A variable of Open MPI that nobody has set; others have none of the name.
void set_variable(const char* name, int value) {
  int level = 0, index = 0, elements = 0, now = 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  if (MPI_T_init_thread(MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) return;
  if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &elements) == MPI_SUCCESS) {
    if (elements == 1 && MPI_T_cvar_read(handle, &now) == MPI_SUCCESS && now == 0)
      MPI_T_cvar_write(handle, &value);
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
}

// Of what an MPI_Iallreduce of few bytes does, recursive doubling has the fewest rounds: each one
// passes through the other ranks' turns at a processor where they share it.
void choose_algorithms() {
  constexpr int kRecursiveDoubling = 4;
  set_variable("coll_libnbc_iallreduce_algorithm", kRecursiveDoubling);
}

void end_mpi() {
  if (!is_usable()) return;
  const auto before_end = g_before_end.load();
  if ((!before_end || before_end()) && !g_unfinished) MPI_Finalize();
}

void begin_once() {
  int begun = 0, level = MPI_THREAD_SINGLE;
  make_symbols_global();
  MPI_Initialized(&begun);
  if (begun) {
    MPI_Query_thread(&level);
  } else {
    const sdk::BlockSignals blocked;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    std::atexit(end_mpi);
    choose_algorithms();
  }
  if (level < MPI_THREAD_MULTIPLE)
    throw std::runtime_error(
        begun ? "the program began MPI without MPI_THREAD_MULTIPLE, which the engine needs"
              : "this MPI does not provide MPI_THREAD_MULTIPLE, which the engine needs");
}

}  // namespace

void begin_mpi() {
  static std::mutex* lock = new std::mutex();  // kept for exit handlers
  std::lock_guard held(*lock);
  static bool done = false;
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended) throw std::runtime_error("MPI has ended in this process (MPI_Finalize)");
  if (!done) begin_once();
  done = true;
}

bool is_usable() {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  return begun && !ended;
}

void leave_unfinished() { g_unfinished = true; }
void set_before_end(bool (*f)()) { g_before_end = f; }

std::pair<int32_t, int32_t> world() {
  begin_mpi();
  int rank = 0, size = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  return {rank, size};
}

std::string text_of(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(what) + ": " + std::string(text, static_cast<size_t>(length));
}

void check(int code, const char* what) {
  if (code != MPI_SUCCESS) throw std::runtime_error(text_of(code, what));
}

int to_int(size_t n) {
  if (n > INT_MAX)
    throw std::runtime_error("MPI counts up to " + std::to_string(INT_MAX) + " elements, not " +
                             std::to_string(n));
  return static_cast<int>(n);
}

ErrorsReturn::ErrorsReturn(MPI_Comm comm) : comm_(comm) {
  MPI_Comm_get_errhandler(comm_, &before_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

ErrorsReturn::~ErrorsReturn() {
  MPI_Comm_set_errhandler(comm_, before_);
  MPI_Errhandler_free(&before_);
}

}  // namespace tenon::mpi_engine
