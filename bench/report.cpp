// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tables for a terminal and for bench/results.
#include <cstdio>
#include <fstream>
#include <set>

#include "bench/measure.h"

namespace bench {
namespace {

std::string cell(const Json& j, const char* key, const char* format) {
  if (!j.contains(key) || !j[key].is_number()) return "-";
  char text[40];
  std::snprintf(text, sizeof text, format, j[key].get<double>());
  return text;
}

// 12,345.6: three digits per group, no decimals from 10,000 up.
std::string grouped(const Json& j, const char* key) {
  if (!j.contains(key) || !j[key].is_number()) return "-";
  double v = j[key].get<double>();
  std::string text =
      cell(j, key, v < 10000 && v != static_cast<double>(static_cast<long>(v)) ? "%.1f" : "%.0f");
  std::size_t end = std::min(text.find('.'), text.size());
  for (std::size_t at = end; at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string padded(const std::string& text, int width) {
  std::string gap(
      static_cast<std::size_t>(std::max(0, std::abs(width) - static_cast<int>(text.size()))), ' ');
  return width < 0 ? text + gap : gap + text;
}

std::string line(const std::vector<std::string>& cells, const std::vector<int>& widths) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i)
    out += (i ? "  " : "") + padded(cells[i], widths[i]);
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

const std::vector<int> widths{-22, 1, 14, 14, 14, 7, 7, -30};

// Target ratios of the first version.
const std::map<std::string, double>& targets() {
  static const std::map<std::string, double> table{
      {"add_1", 0.15},
      {"add_broadcast_44_4", 0.15},
      {"relu_44", 0.15},
      {"empty_1", 0.15},
      {"add_1_out", 0.15},
      {"add_1_inplace", 0.15},
      {"item", 0.3},
      {"view", 0.15},
      {"select", 0.15},
      {"transpose", 0.15},
      {"slice", 0.15},
      {"index_1_2", 0.15},
      {"add_scalar", 0.08},
      {"add_int_float", 0.08},
      {"startup", 0.03},
      {"compile_all", 0.12},
      {"sum_44", 0.25},
      {"softmax_44", 0.25},
      {"mm_44", 0.25},
      {"cat_8_8", 0.25},
      {"mm_64", 1.0},
      {"mul_1_grad", 0.15},
      {"chain_100_both", 0.1},
      {"small_fwd_bwd", 0.12},
      {"mlp_sgd", 0.3},
      {"mlp_adam", 0.3},
      {"digits_step", 0.65},
      {"digits_epoch", 0.65},
      {"add_4096_fresh", 0.25},
      {"exp_16M", 0.27},
      {"softmax_4096", 0.3},
      {"layer_norm_4096", 0.22},
      {"rms_norm_4096", 0.15},
      {"rms_norm_fwd_bwd", 0.3},
      {"sum_dim0_4096", 0.6},
      {"chain5_16M", 0.38},
      {"cumsum_1M", 0.5},
      {"transpose_copy_4096", 0.2},
      {"index_select", 1.0},
      {"embedding_fwd_bwd", 0.6},
      {"sort_1M", 0.2},
      {"topk_1M_100", 0.15},
      {"nonzero_1M", 0.08},
      {"masked_select_1M", 0.1},
      {"exp_256k", 1.0},
      {"log_256k", 1.0},
      {"tanh_256k", 1.0},
      {"sigmoid_256k", 1.0},
      {"gelu_256k", 1.0},
      {"rand_16M", 0.2},
      {"randn_16M", 0.35},
      {"bernoulli_16M", 0.08},
      {"dropout_16M", 0.06},
      {"mm_256_f32", 1.05},
      {"mm_1024_f32", 1.05},
      {"mm_2048_f32", 1.05},
      {"bmm_64x128", 1.05},
      {"linear_32x1024", 1.05},
      {"conv3x3_f32", 1.05},
      {"conv3x3_fwd_bwd_f32", 1.05},
      {"conv1x1_f32", 1.05},
      {"max_pool", 0.1},
      {"conv_depthwise_f32", 0.5},
      {"batch_norm_fwd_bwd", 0.4},
      {"resnet18_b1", 0.7},
      {"resnet18_b8", 0.8},
      {"sdpa_8x512x64", 1.0},
      {"coalesce_655k", 0.35},
      {"spmm_65k", 0.35},
      {"spmm_262k", 0.3},
      {"sparse_add", 0.4},
      {"save_512MB", 0.8},
      {"load_512MB", 0.55},
  };
  return table;
}

std::string target(const Json& j) {
  auto at = targets().find(j.value("row", ""));
  if (at == targets().end()) return "-";
  char text[16];
  std::snprintf(text, sizeof text, "%.2f", at->second);
  return text;
}

std::string remark(const Json& j) {
  if (j.contains("failed")) return j["failed"].get<std::string>();
  return j.contains("noisy") ? "noisy" : "";
}

std::string counts(const Json& j, const char* what) {
  return " | " + grouped(j, (std::string("ours_") + what).c_str()) + " | " +
         grouped(j, (std::string("peer_") + what).c_str());
}

void times(const std::vector<Json>& lines) {
  std::printf(
      "\n| row | threads | ours ns | libtorch ns | lower bound ns | ratio | v1 target | spread | "
      "|\n");
  std::printf("|---|---:|---:|---:|---:|---:|---:|---:|---|\n");
  for (const Json& j : lines) {
    if (j.contains("busy")) continue;
    std::printf("| %s | %d | %s | %s | %s | %s | %s | %s | %s |\n", j.value("row", "?").c_str(),
                j.value("threads", 1), grouped(j, "ours_ns").c_str(), grouped(j, "peer_ns").c_str(),
                grouped(j, "lower_bound_ns").c_str(), cell(j, "ratio", "%.3f").c_str(),
                target(j).c_str(), cell(j, "spread", "%.2f").c_str(), remark(j).c_str());
  }
}

void counted(const std::vector<Json>& lines) {
  bool any = false;
  for (const Json& j : lines) {
    if (!j.contains("ours_instr") && !j.contains("ours_bytes")) continue;
    if (!any) {
      std::printf(
          "\nA call in steady state: instructions (callgrind, AVX2), heap blocks and heap bytes; "
          "startup: resident "
          "bytes; compile_all: bytes at the compiler's peak.\n\n");
      std::printf(
          "| row | ours: instructions | libtorch | ours: blocks | libtorch | ours: bytes | "
          "libtorch |\n");
      std::printf("|---|---:|---:|---:|---:|---:|---:|\n");
    }
    any = true;
    std::printf("| %s%s%s%s |\n", j.value("row", "?").c_str(), counts(j, "instr").c_str(),
                counts(j, "blocks").c_str(), counts(j, "bytes").c_str());
  }
}

void neighbors(const std::vector<Json>& lines) {
  bool any = false;
  for (const Json& j : lines) {
    if (!j.contains("busy")) continue;
    if (!any) {
      std::printf(
          "\nBeside busy processes, against alone; v1 target 1.8 beside one, 3 beside two.\n\n");
      std::printf(
          "| row | threads | busy | ours alone ns | ours beside ns | ours: ratio | libtorch: ratio "
          "|\n");
      std::printf("|---|---:|---:|---:|---:|---:|---:|\n");
    }
    any = true;
    std::printf("| %s | %d | %d | %s | %s | %s | %s |\n", j.value("row", "?").c_str(),
                j.value("threads", 1), j.value("busy", 0), grouped(j, "ours_ns").c_str(),
                grouped(j, "ours_busy_ns").c_str(), cell(j, "ours_busy_ratio", "%.2f").c_str(),
                cell(j, "peer_busy_ratio", "%.2f").c_str());
  }
}

}  // namespace

std::string table_head(const Options& o) {
  if (o.busy)
    return line({"row", "t", "alone ns", "beside ns", "libtorch alone", "ours", "peer", ""},
                widths);
  return line({"row", "t", "ours ns", "libtorch ns", "bound ns", "ratio", "spread", ""}, widths);
}

std::string table_line(const Json& j) {
  std::string threads = std::to_string(j.value("threads", 1));
  if (j.contains("busy")) {
    return line({j["row"], threads, cell(j, "ours_ns", "%.1f"), cell(j, "ours_busy_ns", "%.1f"),
                 cell(j, "peer_ns", "%.1f"), cell(j, "ours_busy_ratio", "%.2f"),
                 cell(j, "peer_busy_ratio", "%.2f"), remark(j)},
                widths);
  }
  return line({j["row"], threads, cell(j, "ours_ns", "%.1f"), cell(j, "peer_ns", "%.1f"),
               cell(j, "lower_bound_ns", "%.1f"), cell(j, "ratio", "%.3f"),
               cell(j, "spread", "%.2f"), remark(j)},
              widths);
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string text, name = "unknown processor";
  int cores = 0;
  while (std::getline(file, text)) {
    if (text.rfind("processor", 0) == 0) ++cores;
    if (text.rfind("model name", 0) == 0)
      name = text.substr(std::min(text.find(": ") + 2, text.size()));
  }
  return name + ", " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
}

int markdown(const std::vector<std::string>& files) {
  std::vector<Json> lines;
  std::set<std::string> origins;
  for (const std::string& name : files) {
    std::ifstream file(name);
    if (!file) {
      std::fprintf(stderr, "bench: cannot read %s\n", name.c_str());
      return 1;
    }
    std::string text;
    while (std::getline(file, text)) {
      Json j = Json::parse(text, nullptr, false);
      if (!j.is_object() || !j.contains("row")) {
        std::fprintf(stderr, "bench: %s: not a line of --json: %.60s\n", name.c_str(),
                     text.c_str());
        return 1;
      }
      origins.insert(j.value("cpu", "unknown processor") + ". Commit " +
                     j.value("commit", "unknown") + ", " + j.value("date", "no date"));
      lines.push_back(std::move(j));
    }
  }
  std::printf("# CPU\n\n");
  for (const std::string& origin : origins) std::printf("%s.\n", origin.c_str());
  std::printf(
      "\nOne process, sides alternating; medians of a repetition of at least 2 ms; ratio is the "
      "median of ours / "
      "libtorch, "
      "lower is\nbetter; spread is its interquartile range / median. A row above 0.15 in three "
      "tries is marked noisy. "
      "`-`: that side does not\nhave the row, or was not built. `./dev bench --help` says how this "
      "table is made.\n");
  times(lines);
  counted(lines);
  neighbors(lines);
  return 0;
}

}  // namespace bench
