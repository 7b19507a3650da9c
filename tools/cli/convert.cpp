// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>
#include <map>
#include <regex>

#include "cases.h"
#include "commands.h"
#include "programs.h"
#include "tenon/jit/export_program.h"
#include "tenon/runtime/error.h"
#if defined(TENON_ONNX)
#include "tenon/onnx/export.h"
#endif

namespace tenon::command {
namespace {

struct DynamicAxes {
  std::map<std::string, std::map<int64_t, std::string>> axes;
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;
};

// "x:0=batch" or "x:0=batch:1..64"
void add_axis(DynamicAxes& to, const std::string& text) {
  static const std::regex kForm("(.+):([0-9]{1,9})=([^:=]+)(:([0-9]{1,18})\\.\\.([0-9]{1,18}))?");
  std::smatch m;
  TENON_CHECK(std::regex_match(text, m, kForm), ValueError, "convert: --dynamic '", text,
              "' is not NAME:AXIS=SIZE or NAME:AXIS=SIZE:MIN..MAX, as x:0=batch:1..64");
  to.axes[m[1]][std::stoll(m[2])] = m[3];
  if (m[4].matched) to.ranges[m[3]] = {std::stoll(m[5]), std::stoll(m[6])};
}
DynamicAxes dynamic_axes(const ConvertOptions& o) {
  DynamicAxes all;
  for (const std::string& text : o.dynamic) add_axis(all, text);
  return all;
}

bool is_exported(const std::string& file) {
  return std::filesystem::path(file).extension() == ".pt2";
}
bool has_examples(const ConvertOptions& o) { return !o.cases.empty() || !o.inputs.empty(); }

std::vector<IValue> example_inputs(const ConvertOptions& o, const jit::Module& m) {
  if (!o.cases.empty()) {
    const CaseFolder folder(o.cases);
    TENON_CHECK(!folder.cases().empty(), ValueError, "convert: ", o.cases, " has no case");
    return folder.arguments(folder.cases().front(), Device("cpu"));
  }
  TENON_CHECK(!o.inputs.empty(), ValueError,
              "convert: an ONNX model and an exported program need example inputs: give --inputs "
              "FILE or --cases FOLDER");
  return read_arguments(o.inputs, m.get_method("forward"), Device("cpu"));
}

void write_onnx([[maybe_unused]] const ConvertOptions& o, [[maybe_unused]] const jit::Module& m) {
#if defined(TENON_ONNX)
  onnx::ExportOptions options;
  options.opset = o.opset;
  options.external_data = o.external_data;
  DynamicAxes dynamic = dynamic_axes(o);
  TENON_CHECK(dynamic.ranges.empty(), ValueError,
              "convert: an ONNX model cannot say the range of '", dynamic.ranges.begin()->first,
              "'");
  options.dynamic_axes = std::move(dynamic.axes);
  if (m.is_training()) m.eval();
  onnx::export_(m, example_inputs(o, m), o.out, options);
#else
  throw NotImplementedError("convert: this build has no libtenon_onnx, which needs protobuf");
#endif
}

}  // namespace

void convert_program(const ConvertOptions& o) {
  const std::string extension = std::filesystem::path(o.out).extension().string();
  TENON_CHECK(extension == ".pt" || extension == ".pt2" || extension == ".onnx", ValueError,
              "convert: '", o.out,
              "' does not say its format: a name that ends in .pt is a TorchScript archive, one in "
              ".pt2 an exported program, one in .onnx an ONNX model");
  const jit::Module m = load_program(o.in, Device("cpu"));
  if (extension == ".onnx") {
    write_onnx(o, m);
  } else if (extension == ".pt2" && is_exported(o.in) && !has_examples(o) && o.dynamic.empty()) {
    m.save(o.out);  // with the symbolic sizes that it has
  } else if (extension == ".pt2") {
    const DynamicAxes dynamic = dynamic_axes(o);
    if (o.call_first) {
      const NoGradGuard no_grad;
      (void)m.forward(example_inputs(o, m));
    }
    jit::export_program(m, example_inputs(o, m), o.out, {dynamic.axes, dynamic.ranges, o.train});
  } else {
    m.unit()->kept = nullptr;  // or it would be written as what it was read from
    m.save(o.out);
  }
  std::cout << "wrote " << o.out << ", " << format_bytes(std::filesystem::file_size(o.out)) << "\n";
}

}  // namespace tenon::command
