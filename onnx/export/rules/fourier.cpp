// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Fourier transforms. DFT divides the inverse one by the number of elements.
#include "onnx/export/pairs.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

// What the result of a transform is divided by, as _fft_c2c and its relatives number it.
enum Normalization : int64_t { kNone, kByRoot, kByCount };
int64_t normalization(const Call& c, bool forward) {
  const std::string norm = c.none("norm") ? "backward" : c.text("norm");
  if (norm == "ortho") return kByRoot;
  return (norm == "backward") == forward ? kNone : kByCount;
}

class Transform {
 public:
  explicit Transform(Call& c) : c_(c), dtype_(toRealValueType(c.result().scalar_type())) {
    need(c.exporter.opset() >= 17, "needs opset 17");
    need(dtype_ == kFloat32 || dtype_ == kFloat64, "of float16");
  }

  std::string complex_input() { return pairs_of(c_, "self", dtype_); }
  std::string real_input() { return c_.unsqueeze(c_.in("self", dtype_), {c_.rank("self")}); }

  // Cut or padded to n elements, if it is given.
  std::string dft(const std::string& x, int64_t dim, bool inverse, bool onesided,
                  std::optional<int64_t> n = std::nullopt) {
    Attrs attrs{{"inverse", int64_t{inverse}}, {"onesided", int64_t{onesided}}};
    Names inputs{x, n ? c_.constant(as_tensor(IValue(*n))) : ""};
    if (c_.exporter.opset() >= 20)
      inputs.push_back(c_.constant(as_tensor(IValue(dim))));
    else
      attrs.push_back({"axis", IValue(dim)});
    inverse_ = inverse;
    if (!n && !c_.is_fixed("self", dim)) elements_ = -1;
    elements_ *= static_cast<double>(n ? *n : c_.size("self", dim));
    return c_.op("DFT", inputs, attrs);
  }
  // The inverse transform of n real numbers, of whose spectrum the first half is given. A spectrum
  // whose size the program asks of it needs no cut.
  std::string half_to_real(std::string x, int64_t dim, int64_t n, bool asked = false) {
    const int64_t half = n / 2 + 1, size = c_.size("self", dim), rest = n - half;
    need(asked || c_.is_fixed("self", dim), "of a dimension whose size varies");
    if (size > half) x = c_.slice(x, dim, 0, half);
    if (size < half) x = pad(x, dim, half - size);
    if (rest > 0) {
      const std::string back = c_.slice(x, dim, rest, 0, -1);
      x = c_.op("Concat", {x, conjugate(c_, back, dtype_)}, {{"axis", dim}});
    }
    return part_of(c_, dft(x, dim, true, false, n), 0);
  }
  std::string scaled(const std::string& y, int64_t mode) const {
    if (mode == (inverse_ ? kByCount : kNone)) return y;
    need(elements_ > 0, "this normalization of a dimension whose size varies");
    double factor = inverse_ ? elements_ : 1;
    if (mode == kByRoot) factor /= std::sqrt(elements_);
    if (mode == kByCount) factor /= elements_;
    return c_.op("Mul", {y, c_.constant(factor, dtype_)});
  }
  ScalarType dtype() const { return dtype_; }

 private:
  std::string pad(const std::string& x, int64_t dim, int64_t by) {
    const int64_t rank = c_.rank("self") + 1;
    std::vector<int64_t> pads(static_cast<std::size_t>(2 * rank), 0);
    pads[static_cast<std::size_t>(rank + dim)] = by;
    return c_.op("Pad", {x, c_.int_list(pads)});
  }

  Call& c_;
  ScalarType dtype_;
  bool inverse_ = false;
  double elements_ = 1;  // of the dimensions together; -1: not known
};

// One dimension.
std::optional<int64_t> given_n(const Call& c) {
  return c.none("n") ? std::nullopt : std::optional(c.integer("n"));
}
void fft(Call& c) {
  const bool forward = c.name == "aten::fft_fft", real = !isComplexType(c.dtype("self"));
  Transform t(c);
  const std::string x = real && forward ? t.real_input() : t.complex_input();
  c.give(t.scaled(t.dft(x, c.axis("dim", "self"), !forward, false, given_n(c)),
                  normalization(c, forward)));
}
void rfft(Call& c) {
  const bool forward = c.name == "aten::fft_rfft";
  Transform t(c);
  const std::string y = t.dft(t.real_input(), c.axis("dim", "self"), false, true, given_n(c));
  const std::string scaled = t.scaled(y, normalization(c, forward));
  c.give(forward ? scaled : conjugate(c, scaled, t.dtype()));
}
void irfft(Call& c) {
  const bool forward = c.name == "aten::fft_hfft";
  Transform t(c);
  const int64_t dim = c.axis("dim", "self");
  const int64_t n = given_n(c).value_or(2 * (c.size("self", dim) - 1));
  std::string x = t.complex_input();
  if (forward) x = conjugate(c, x, t.dtype());
  c.give(t.scaled(t.half_to_real(x, dim, n), normalization(c, forward)));
}

// Several. A size to cut or pad to, if there is one.
struct Dim {
  int64_t dim;
  std::optional<int64_t> n;
};
std::vector<Dim> dims_of(const Call& c) {
  const int64_t rank = c.rank("self");
  const std::vector<int64_t> sizes = c.ints("s"), given = c.ints("dim");
  std::vector<Dim> dims;
  const bool all = given.empty();
  const auto n = all ? (sizes.empty() ? rank : static_cast<int64_t>(sizes.size()))
                     : static_cast<int64_t>(given.size());
  for (int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const int64_t d = all ? rank - n + i : given[k] < 0 ? given[k] + rank : given[k];
    const bool sized = k < sizes.size() && sizes[k] != -1;
    dims.push_back({d, sized ? std::optional(sizes[k]) : std::nullopt});
  }
  need(!dims.empty(), "over no dimension");
  return dims;
}
void give_complex(Call& c, bool forward, int64_t mode) {
  Transform t(c);
  std::string x = t.complex_input();
  for (const Dim& d : dims_of(c)) x = t.dft(x, d.dim, !forward, false, d.n);
  c.give(t.scaled(x, mode));
}
void give_from_real(Call& c, bool onesided, int64_t mode) {
  Transform t(c);
  std::vector<Dim> dims = dims_of(c);
  std::string x = t.dft(t.real_input(), dims.back().dim, false, onesided, dims.back().n);
  dims.pop_back();
  for (const Dim& d : dims) x = t.dft(x, d.dim, false, false, d.n);
  c.give(t.scaled(x, mode));
}
void give_to_real(Call& c, std::optional<int64_t> last_size, int64_t mode) {
  Transform t(c);
  std::vector<Dim> dims = dims_of(c);
  const Dim last = dims.back();
  dims.pop_back();
  std::string x = t.complex_input();
  for (const Dim& d : dims) x = t.dft(x, d.dim, true, false, d.n);
  const int64_t natural = 2 * (c.size("self", last.dim) - 1);
  const int64_t n = last_size.value_or(last.n.value_or(natural));
  c.give(t.scaled(t.half_to_real(x, last.dim, n), mode));
}
void fftn(Call& c) {
  const bool forward = c.name == "aten::fft_fftn" || c.name == "aten::fft_fft2";
  give_complex(c, forward, normalization(c, forward));
}
void rfftn(Call& c) { give_from_real(c, true, normalization(c, true)); }
void irfftn(Call& c) { give_to_real(c, std::nullopt, normalization(c, false)); }
void c2c(Call& c) { give_complex(c, c.flag("forward"), c.integer("normalization")); }
void r2c(Call& c) { give_from_real(c, c.flag("onesided"), c.integer("normalization")); }
void c2r(Call& c) { give_to_real(c, c.integer("last_dim_size"), c.integer("normalization")); }

// The windows of a signal: what is beside a window that is shorter than its transform is 0.
std::string window_of(Call& c, int64_t n, ScalarType dtype) {
  const int64_t length = c.none("win_length") ? n : c.integer("win_length");
  const int64_t before = (n - length) / 2;
  const std::string w =
      c.none("window") ? c.constant(ones({length}, TensorOptions(dtype))) : c.in("window", dtype);
  return length == n ? w : c.op("Pad", {w, c.int_list({before, n - length - before})});
}
void stft(Call& c) {
  const ScalarType in = c.dtype("self"), dtype = toRealValueType(in);
  need(c.exporter.opset() >= 17, "needs opset 17");
  need(c.none("align_to_window") || !c.flag("align_to_window"), "aligned to windows");
  const bool complex = isComplexType(in);
  const int64_t n = c.integer("n_fft"), rank = c.rank("self");
  const int64_t hop = c.none("hop_length") ? n / 4 : c.integer("hop_length");
  const bool onesided = c.none("onesided") ? !complex : c.flag("onesided");
  need(!complex || c.none("window") || !isComplexType(c.dtype("window")), "with a complex window");
  std::string x = complex ? c.exporter.pairs_of(c.get("self")) : c.unsqueeze(c.in("self"), {rank});
  if (rank == 1) x = c.unsqueeze(x, {0});
  if (c.has("center") && c.flag("center", true)) {
    std::string mode = c.text("pad_mode", "reflect");
    if (mode == "replicate") mode = "edge";
    need(mode != "circular" || c.exporter.opset() >= 19, "mode circular needs opset 19");
    if (mode == "circular") mode = "wrap";
    x = c.op("Pad", {x, c.int_list({0, n / 2, 0, 0, n / 2, 0})}, {{"mode", mode}});
  }
  std::string y = c.op("STFT",
                       {x, c.constant(as_tensor(IValue(hop))), window_of(c, n, dtype),
                        c.constant(as_tensor(IValue(n)))},
                       {{"onesided", int64_t{onesided}}});
  y = c.transpose(y, {0, 2, 1, 3});
  if (c.flag("normalized"))
    y = c.op("Mul", {y, c.constant(1 / std::sqrt(static_cast<double>(n)), dtype)});
  c.give(rank == 1 ? c.squeeze(y, {0}) : y);
}

// Columns of [batch, n, windows], added where the windows lie, every `hop` elements: [batch, 1,
// ...].
std::string overlapped(Call& c, const std::string& columns, int64_t n, int64_t hop, ScalarType d) {
  const std::string places = c.constant(eye(n, TensorOptions(d)).unsqueeze(1));
  return c.op("ConvTranspose", {columns, places}, {{"strides", IValue(std::vector<int64_t>{hop})}});
}
// What lies in several windows is divided by the sum of the squares that it was multiplied by.
void istft(Call& c) {
  need(!c.flag("return_complex"), "with return_complex=True");
  Transform t(c);
  const int64_t n = c.integer("n_fft"), rank = c.rank("self");
  const int64_t hop = c.none("hop_length") ? n / 4 : c.integer("hop_length");
  const bool whole = !c.none("onesided") && !c.flag("onesided");
  const std::string z = t.complex_input();
  std::string x = whole ? part_of(c, t.dft(z, rank - 2, true, false, n), 0)
                        : t.half_to_real(z, rank - 2, n, true);
  x = t.scaled(x, c.flag("normalized") ? kByRoot : kByCount);
  if (rank == 2) x = c.unsqueeze(x, {0});
  const std::string window = c.unsqueeze(window_of(c, n, t.dtype()), {1});
  const std::string windows = c.slice(c.op("Shape", {z}), 0, rank - 1, rank);
  const std::string shape = c.op("Concat", {c.int_list({1, n}), windows}, {{"axis", int64_t{0}}});
  const std::string squares = c.op("Expand", {c.op("Mul", {window, window}), shape});
  const int64_t begin = c.flag("center", true) ? n / 2 : 0;
  int64_t end = begin ? -begin : kEnd;
  if (!c.none("length")) end = begin + c.integer("length");
  const auto laid = [&](const std::string& v) {
    return c.slice(overlapped(c, v, n, hop, t.dtype()), 2, begin, end);
  };
  std::string y = c.op("Div", {laid(c.op("Mul", {x, window})), laid(squares)});
  if (!c.none("length")) {  // what the windows do not reach is 0
    const int64_t length = c.integer("length");
    y = c.slice(c.op("Pad", {y, c.int_list({0, 0, 0, 0, 0, length})}), 2, 0, length);
  }
  c.give(c.squeeze(y, rank == 2 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{1}));
}

const Rules::Entry list[] = {
    {"aten::fft_fft", fft},       {"aten::fft_ifft", fft},      {"aten::fft_rfft", rfft},
    {"aten::fft_ihfft", rfft},    {"aten::fft_irfft", irfft},   {"aten::fft_hfft", irfft},
    {"aten::fft_fftn", fftn},     {"aten::fft_fft2", fftn},     {"aten::fft_ifftn", fftn},
    {"aten::fft_ifft2", fftn},    {"aten::fft_rfftn", rfftn},   {"aten::fft_rfft2", rfftn},
    {"aten::fft_irfftn", irfftn}, {"aten::fft_irfft2", irfftn}, {"aten::_fft_c2c", c2c},
    {"aten::_fft_r2c", r2c},      {"aten::_fft_c2r", c2r},      {"aten::stft", stft},
    {"aten::istft", istft},
};
TENON_EXPORT_COMPLEX_RULES(list);

// With return_complex=False neither its argument nor its result is complex.
const Rules::Entry real_list[] = {{"aten::stft", stft}};
TENON_EXPORT_RULES(real_list);

}  // namespace
}  // namespace tenon::onnx::exporting
