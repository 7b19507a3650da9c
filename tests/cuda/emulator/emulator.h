// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Runs the body of a CUDA kernel on the host: block after block, or several at once; the threads of
// a block as fibers of one OS thread that switch where they wait for each other. What would be
// undefined on a device is a Fault with the kernel, the block and the thread. How device code
// reaches this is in tenon_cuda_emulated.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace tenon::emulator {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

enum class FaultKind {
  Barrier,    // threads of a block that wait at a barrier which others never reach
  Warp,       // a mask that names the wrong lanes, or a shuffle from a lane outside of it
  Unwritten,  // a read of shared memory that nothing has written in this block
  Outside,    // an index past the end of an array in shared memory
  Race        // two threads access shared memory without a barrier between them
};

class Fault : public std::runtime_error {
 public:
  Fault(FaultKind k, const std::string& text) : std::runtime_error(text), kind(k) {}
  FaultKind kind;
};

// The order in which threads run between barriers. No correct kernel depends on it.
enum class Order { Forward, Reverse };
void set_order(Order order);

// How the blocks of a launch run. A seed shuffles them and their threads; several OS threads run
// them concurrently. TENON_EMULATOR_SEED and TENON_EMULATOR_THREADS are the default.
struct Schedule {
  uint64_t seed = 0;
  int threads = 1;
};
void set_schedule(const Schedule& schedule);

struct Launch {
  const char* kernel = "";  // a literal
  Dim3 grid, block;
  std::size_t shared_bytes = 0;
};

// Returns when all blocks are done; throws Fault, after the threads of the block were unwound.
void run(const Launch& launch, void (*body)(void* arg), void* arg);

template <class F>
void run(const Launch& launch, F&& body) {
  run(
      launch, [](void* f) { (*static_cast<std::remove_reference_t<F>*>(f))(); }, &body);
}

// For device code; valid within run() only.
const Dim3& thread_index();
const Dim3& block_index();
const Dim3& block_size();
const Dim3& grid_size();

enum class WarpOp : uint8_t {
  None,
  Sync,
  ShuffleUp,
  ShuffleDown,
  ShuffleXor,
  Shuffle,
  Ballot,
  Any,
  All
};
void barrier(const char* file, int line);
uint64_t warp_op(WarpOp op, uint32_t mask, uint64_t value, int operand, int width, const char* file,
                 int line);

[[noreturn]] void fail(FaultKind kind, const std::string& what);

// Shared memory of the block. `tag` identifies the declaration; null is the dynamic part.
class SharedRegion;
SharedRegion* shared_region(const void* tag, const char* name, std::size_t bytes);
// Check the element at a byte offset. Writes that store the present value are not races with each
// other.
void check_read(SharedRegion* region, std::size_t offset, std::size_t bytes);
void check_write(SharedRegion* region, std::size_t offset, std::size_t bytes, const void* value);
void check_atomic(SharedRegion* region, std::size_t offset, std::size_t bytes);
char* shared_bytes(SharedRegion* region);

}  // namespace tenon::emulator
