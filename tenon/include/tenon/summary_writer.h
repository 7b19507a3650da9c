// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Event files, which TensorBoard shows: curves, histograms and texts of a training run.
//
//   SummaryWriter writer("runs/first");
//   writer.add_scalar("loss/train", loss.item<double>(), step);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tenon/tensor.h"

namespace tenon {

// Appends to one new file of its own in a folder, which it makes. Calls may come from several
// threads. What was added is in the file after flush() and at the end. ValueError names the file
// and the system's reason. A tag groups by its parts between slashes. `walltime` is in seconds
// since 1970, now unless given.
class TENON_API SummaryWriter {
 public:
  // The file is events.out.tfevents.TIME.HOST.PID.NUMBER and the suffix.
  explicit SummaryWriter(const std::string& log_dir, const std::string& filename_suffix = "");
  ~SummaryWriter();  // closes; errors are dropped, so call flush() to hear of them
  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  // A point of a curve, kept in single precision.
  void add_scalar(const std::string& tag, double value, int64_t global_step = 0,
                  std::optional<double> walltime = std::nullopt);
  // All elements of a tensor with at least one. Bins grow by a factor of 1.1 from 1e-12 to 1e20 to
  // both sides of zero, as in torch.utils.tensorboard; empty ones at the ends are left out.
  // ValueError for a NaN or an infinity.
  void add_histogram(const std::string& tag, const Tensor& values, int64_t global_step = 0,
                     std::optional<double> walltime = std::nullopt);
  // Markdown.
  void add_text(const std::string& tag, const std::string& text, int64_t global_step = 0,
                std::optional<double> walltime = std::nullopt);

  void flush();
  const std::string& filename() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon
