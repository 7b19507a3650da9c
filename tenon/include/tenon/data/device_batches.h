// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Batches on a device: while one of them is used, the next is read and copied.
#pragma once

#include <exception>
#include <optional>
#include <utility>

#include "tenon/data/worker.h"
#include "tenon/function_ref.h"
#include "tenon/stream.h"

namespace tenon::data::detail {

// The device and the stream of its pool on which batches are copied.
class TENON_API DeviceCopies {
 public:
  // A device without an index is the current one of its type. The host needs no copies.
  explicit DeviceCopies(std::optional<Device> device);
  bool needed() const { return stream_.has_value(); }
  // On the device; the copy has only begun.
  Tensor begin(const Tensor& t) const;
  // Marks the end of all copies begun.
  Event mark() const;
  // The caller's current stream waits for the mark.
  void wait(const Event& copied) const;
  // The caller's current stream uses the tensor, too.
  void hand_over(const Tensor& t) const;

 private:
  std::optional<Stream> stream_;
};

template <class Batch>
class DeviceBatches {
 public:
  explicit DeviceBatches(std::optional<Device> device) : copies_(device) {}

  // What `read` gives, on the device. An exception of `read` is thrown when its batch is asked for.
  std::optional<Batch> next(FunctionRef<std::optional<Batch>()> read) {
    if (!copies_.needed()) return read();
    if (!ahead_) ahead_ = fetch(read);
    Fetched now = std::move(*ahead_);
    ahead_.reset();
    if (now.failed) std::rethrow_exception(now.failed);
    if (!now.batch) return std::nullopt;
    ahead_ = fetch(read);
    copies_.wait(now.copied);
    each_tensor(*now.batch, [this](Tensor& t) { copies_.hand_over(t); });
    return std::move(now.batch);
  }
  void reset() { ahead_.reset(); }

 private:
  struct Fetched {
    std::optional<Batch> batch;  // none at the end
    Event copied{kCPU};
    std::exception_ptr failed;
  };

  Fetched fetch(FunctionRef<std::optional<Batch>()> read) {
    Fetched f;
    try {
      f.batch = read();
      if (!f.batch) return f;
      each_tensor(*f.batch, [this](Tensor& t) { t = copies_.begin(t); });
      f.copied = copies_.mark();
    } catch (...) {
      f.failed = std::current_exception();
    }
    return f;
  }

  DeviceCopies copies_;
  std::optional<Fetched> ahead_;
};

}  // namespace tenon::data::detail
