// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Numbers of fields are those of TensorFlow's event.proto, summary.proto and tensor.proto.
#include "tenon/summary_writer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>
#include <vector>

#include "event_file.h"
#include "protobuf.h"
#include "tenon/autograd.h"
#include "tenon/ops.h"

namespace tenon {

using io::Message;

namespace {

namespace event {
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;
}
namespace summary {
constexpr uint32_t kValue = 1, kTag = 1, kSimpleValue = 2, kHistogram = 5, kTensor = 8,
                   kMetadata = 9;
constexpr uint32_t kPluginData = 1, kPluginName = 1;
}  // namespace summary
namespace histogram {
constexpr uint32_t kMin = 1, kMax = 2, kCount = 3, kSum = 4, kSumOfSquares = 5, kLimits = 6,
                   kBuckets = 7;
}
namespace tensor_proto {
constexpr uint32_t kDtype = 1, kShape = 2, kDim = 2, kSize = 1, kStrings = 8;
constexpr int64_t kString = 7;  // DT_STRING
}  // namespace tensor_proto

double now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

// Edges of the bins, ascending.
const std::vector<double>& bin_edges() {
  static const std::vector<double> edges = [] {
    std::vector<double> positive, all;
    for (double v = 1e-12; v < 1e20; v *= 1.1) positive.push_back(v);
    for (auto v = positive.rbegin(); v != positive.rend(); ++v) all.push_back(-*v);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return edges;
}

struct Bins {
  std::vector<double> limits, counts;  // upper edge and count of each
};

// From one empty bin before the first that is not, to the last that is not.
Bins count_in_bins(const std::vector<double>& values) {
  const std::vector<double>& edges = bin_edges();
  std::vector<double> counts(edges.size() - 1);
  for (const double v : values) {
    const auto above = std::upper_bound(edges.begin(), edges.end(), v);
    const auto at = static_cast<std::size_t>(above - edges.begin());
    if (at == 0) continue;
    if (at < edges.size()) {
      counts[at - 1] += 1;
    } else if (v == edges.back()) {
      counts.back() += 1;
    }
  }
  const auto is_used = [](double n) { return n > 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), is_used) - counts.begin();
  const auto last =
      counts.rend() - std::find_if(counts.rbegin(), counts.rend(), is_used);  // one further
  Bins out;
  if (first >= last) return out;
  out.limits.assign(edges.begin() + first, edges.begin() + last + 1);
  if (first == 0) out.counts.push_back(0);
  out.counts.insert(out.counts.end(), counts.begin() + std::max<std::ptrdiff_t>(first - 1, 0),
                    counts.begin() + last);
  return out;
}

Message histogram_of(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double v : values) {
    sum += v;
    squares += v * v;
  }
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  const Bins bins = count_in_bins(values);
  Message out;
  out.add_double(histogram::kMin, *least).add_double(histogram::kMax, *largest);
  out.add_double(histogram::kCount, static_cast<double>(values.size()));
  out.add_double(histogram::kSum, sum).add_double(histogram::kSumOfSquares, squares);
  return out.add_packed(histogram::kLimits, bins.limits)
      .add_packed(histogram::kBuckets, bins.counts);
}

}  // namespace

struct SummaryWriter::State {
  State(const std::string& folder, const std::string& suffix) : file(folder, suffix) {}

  void write(const Message& value, int64_t step, std::optional<double> walltime) {
    Message out;
    out.add_double(event::kWallTime, walltime.value_or(now())).add_int(event::kStep, step);
    out.add(event::kSummary, Message().add(summary::kValue, value));
    std::lock_guard lock(mutex);
    file.write(out.bytes());
  }

  std::mutex
      mutex;  // guards the file; fork: of one writer, whose file two processes must not share
  io::EventFile file;
};

SummaryWriter::SummaryWriter(const std::string& log_dir, const std::string& filename_suffix)
    : state_(std::make_unique<State>(log_dir, filename_suffix)) {
  Message first;
  first.add_double(event::kWallTime, now()).add_bytes(event::kFileVersion, "brain.Event:2");
  state_->file.write(first.bytes());
  flush();
}
SummaryWriter::~SummaryWriter() = default;

void SummaryWriter::add_scalar(const std::string& tag, double value, int64_t global_step,
                               std::optional<double> walltime) {
  Message out;
  out.add_bytes(summary::kTag, tag).add_float(summary::kSimpleValue, static_cast<float>(value));
  state_->write(out, global_step, walltime);
}

void SummaryWriter::add_histogram(const std::string& tag, const Tensor& values, int64_t global_step,
                                  std::optional<double> walltime) {
  TENON_CHECK(values.defined() && values.numel() > 0, ValueError, "add_histogram: '", tag,
              "' has no elements");
  NoGradGuard no_grad;
  const Tensor flat = values.detach().to(kCPU).to(kFloat64).reshape({-1}).contiguous();
  const double* data = flat.const_data_ptr<double>();
  const std::vector<double> elements(data, data + flat.numel());
  for (const double v : elements) {
    TENON_CHECK(std::isfinite(v), ValueError, "add_histogram: '", tag, "' has the element ", v);
  }
  Message out;
  out.add_bytes(summary::kTag, tag).add(summary::kHistogram, histogram_of(elements));
  state_->write(out, global_step, walltime);
}

void SummaryWriter::add_text(const std::string& tag, const std::string& text, int64_t global_step,
                             std::optional<double> walltime) {
  Message shape, tensor, metadata, out;
  shape.add(tensor_proto::kDim, Message().add_int(tensor_proto::kSize, 1));
  tensor.add_int(tensor_proto::kDtype, tensor_proto::kString).add(tensor_proto::kShape, shape);
  tensor.add_bytes(tensor_proto::kStrings, text);
  metadata.add(summary::kPluginData, Message().add_bytes(summary::kPluginName, "text"));
  out.add_bytes(summary::kTag, tag + "/text_summary").add(summary::kTensor, tensor);
  state_->write(out.add(summary::kMetadata, metadata), global_step, walltime);
}

void SummaryWriter::flush() {
  std::lock_guard lock(state_->mutex);
  state_->file.flush();
}

const std::string& SummaryWriter::filename() const noexcept { return state_->file.name(); }

}  // namespace tenon
