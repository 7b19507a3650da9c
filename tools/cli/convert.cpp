// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>

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

#if defined(TENON_ONNX)
// "x:0=batch"
void add_axis(onnx::ExportOptions& options, const std::string& text) {
  const std::size_t colon = text.find(':'), equals = text.find('=', colon);
  TENON_CHECK(colon != std::string::npos && equals != std::string::npos && colon > 0 &&
                  equals > colon + 1 && equals + 1 < text.size() &&
                  text.find_first_not_of("0123456789", colon + 1) == equals,
              ValueError, "convert: --dynamic '", text, "' is not NAME:AXIS=SIZE, as x:0=batch");
  const int64_t axis = std::stoll(text.substr(colon + 1, equals - colon - 1));
  options.dynamic_axes[text.substr(0, colon)][axis] = text.substr(equals + 1);
}

#endif

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
  for (const std::string& axis : o.dynamic) add_axis(options, axis);
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
  } else if (extension == ".pt2" && is_exported(o.in) && !has_examples(o)) {
    m.save(o.out);  // with the symbolic sizes that it has
  } else if (extension == ".pt2") {
    jit::export_program(m, example_inputs(o, m), o.out);
  } else {
    m.unit()->kept = nullptr;  // or it would be written as what it was read from
    m.save(o.out);
  }
  std::cout << "wrote " << o.out << ", " << format_bytes(std::filesystem::file_size(o.out)) << "\n";
}

}  // namespace tenon::command
