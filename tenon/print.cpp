// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// tensor([2., 3.]): one format for all elements, aligned, shortened in the middle when large.
#include "tenon/print.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <ostream>
#include <vector>

#include "runtime/base/leaf_mutex.h"
#include "tenon/autograd/node.h"
#include "tenon/core/layout.h"
#include "tenon/ops.h"
#include "tenon/print_libtorch.h"

namespace tenon {
namespace {

std::atomic<PrintStyle> g_style{PrintStyle::Tenon};
core::LeafMutex g_mutex;
PrintOptions g_options;

std::string formatted(const char* format, int precision, double v) {
  char buffer[64];
  int n = std::snprintf(buffer, sizeof buffer, format, precision, v);
  return std::string(buffer, static_cast<std::size_t>(std::max(0, n)));
}

// The format of all elements, chosen from those that are shown.
class Format {
 public:
  Format(const std::vector<Scalar>& shown, ScalarType dtype, const PrintOptions& o,
         PrintStyle style)
      : dtype_(dtype), options_(o), sign_column_(style == PrintStyle::Era04) {
    if (isComplexType(dtype)) choose_parts(shown, style);
    if (isFloatingType(dtype)) choose(shown);
    for (const Scalar& s : shown) width_ = std::max(width_, raw(s).size());
  }
  std::string padded(const Scalar& s) const {
    std::string text = raw(s);
    return text.size() < width_ ? std::string(width_ - text.size(), ' ') + text : text;
  }
  std::string raw(const Scalar& s) const {
    if (!parts_.empty()) return complex_text(s.toComplexDouble());
    if (dtype_ == kBool) return s.toBool() ? "True" : "False";
    if (!isFloatingType(dtype_)) return signed_column(std::to_string(s.toLong()));
    double v = s.toDouble();
    if (std::isnan(v)) return signed_column("nan");
    if (std::isinf(v)) return v > 0 ? signed_column("inf") : "-inf";
    if (scientific_) return signed_column(formatted("%.*e", options_.precision, v));
    if (integers_) return signed_column(formatted("%.*f", 0, v) + ".");
    return signed_column(formatted("%.*f", options_.precision, v));
  }
  std::size_t width() const { return width_; }

 private:
  // The 0.4 era kept a column for the sign.
  std::string signed_column(std::string text) const {
    return sign_column_ && text[0] != '-' ? " " + text : text;
  }
  // "1.+2.j": each part has a format of its own.
  std::string complex_text(const core::complex<double>& v) const {
    std::string im = parts_[1].padded(Scalar(v.imag()));
    im.erase(0, im.find_first_not_of(' '));
    return parts_[0].padded(Scalar(v.real())) + (im[0] == '-' ? "" : "+") + im + "j";
  }
  void choose_parts(const std::vector<Scalar>& shown, PrintStyle style) {
    std::vector<Scalar> re, im;
    for (const Scalar& s : shown) {
      re.emplace_back(s.toComplexDouble().real());
      im.emplace_back(s.toComplexDouble().imag());
    }
    parts_.reserve(2);
    parts_.emplace_back(re, kDouble, options_, style);
    parts_.emplace_back(im, kDouble, options_, style);
  }
  void choose(const std::vector<Scalar>& shown) {
    double low = HUGE_VAL, high = 0;
    integers_ = true;
    for (const Scalar& s : shown) {
      double v = std::fabs(s.toDouble());
      if (!std::isfinite(v) || v == 0) continue;
      low = std::min(low, v);
      high = std::max(high, v);
      integers_ = integers_ && v == std::ceil(v);
    }
    if (high == 0) return;
    scientific_ =
        integers_ ? high / low > 1000 || high > 1e8 : high / low > 1000 || high > 1e8 || low < 1e-4;
    if (options_.sci_mode >= 0) scientific_ = options_.sci_mode == 1;
    if (scientific_) integers_ = false;
  }
  std::vector<Format> parts_;  // of complex numbers
  ScalarType dtype_;
  const PrintOptions& options_;
  bool sign_column_, scientific_ = false, integers_ = false;
  std::size_t width_ = 0;
};

class Printer {
 public:
  Printer(const Tensor& t, const PrintOptions& o, PrintStyle style)
      : host_(t),
        o_(o),
        shorten_(t.numel() > o.threshold),
        format_(shown(), t.scalar_type(), o, style) {}

  std::string body(std::size_t indent) {
    return host_.dim() == 0 ? stripped(format_.raw(host_.item())) : level(0, 0, indent);
  }

 private:
  static std::string stripped(std::string s) {
    s.erase(0, s.find_first_not_of(' '));
    return s;
  }
  // Indices along a dimension that are shown; -1 stands for what is left out.
  std::vector<int64_t> shown_indices(int64_t d) const {
    int64_t n = host_.size(d), edge = o_.edge_items;
    std::vector<int64_t> out;
    for (int64_t i = 0; i < n; ++i) {
      if (shorten_ && n > 2 * edge && i == edge) {
        out.push_back(-1);
        i = n - edge;
      }
      out.push_back(i);
    }
    return out;
  }
  void gather(int64_t d, int64_t at, std::vector<Scalar>& out) const {
    if (d == host_.dim()) {
      out.push_back(element(at));
      return;
    }
    for (int64_t i : shown_indices(d)) {
      if (i >= 0) gather(d + 1, at + i * host_.stride(d), out);
    }
  }
  std::vector<Scalar> shown() const {
    std::vector<Scalar> out;
    gather(0, 0, out);
    return out;
  }
  Scalar element(int64_t at) const {
    const char* p = static_cast<const char*>(host_.const_data_ptr()) +
                    at * static_cast<int64_t>(host_.element_size());
    switch (host_.scalar_type()) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  case ScalarType::Enum:                                               \
    return Scalar(*reinterpret_cast<const ctype*>(p));
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
      default:
        return Scalar(0);
    }
  }
  std::string level(int64_t d, int64_t at, std::size_t indent) {
    std::vector<int64_t> list = shown_indices(d);
    bool last = d == host_.dim() - 1;
    std::size_t per_line = std::max<std::size_t>(
        1, (static_cast<std::size_t>(o_.line_width) - indent) / (format_.width() + 2));
    std::string out = "[";
    std::string gap = last
                          ? ","
                          : "," + std::string(static_cast<std::size_t>(host_.dim() - 1 - d), '\n') +
                                std::string(indent + 1, ' ');
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (k > 0) {
        out += gap;
        if (last) out += k % per_line == 0 ? "\n" + std::string(indent + 1, ' ') : " ";
      }
      if (list[k] < 0)
        out += last ? " ..." : "...";
      else if (last)
        out += format_.padded(element(at + list[k] * host_.stride(d)));
      else
        out += level(d + 1, at + list[k] * host_.stride(d), indent + 1);
    }
    return out + "]";
  }

  Tensor host_;
  const PrintOptions& o_;
  bool shorten_;
  Format format_;
};

std::string history(const Tensor& t) {
  std::string out;
  if (auto fn = t.grad_fn())
    out += std::string(", grad_fn=<") + fn->name() + ">";
  else if (t.requires_grad())
    out += ", requires_grad=True";
  return out;
}

std::string suffixes(const Tensor& t) {
  std::string out;
  ScalarType d = t.scalar_type();
  bool silent = d == get_default_dtype() || d == kLong || d == kBool;
  if (t.numel() == 0 && t.dim() != 1) {
    std::string sizes;
    for (int64_t s : t.sizes()) sizes += (sizes.empty() ? "" : ", ") + std::to_string(s);
    out += ", size=(" + sizes + ")";
  }
  if (t.numel() == 0 ? d != get_default_dtype() : !silent)
    out += ", dtype=" + std::string(dtype_name(d));
  if (!t.is_cpu()) out += ", device='" + t.device().str() + "'";
  return out + history(t);
}

std::string sizes_text(const Tensor& t) {
  std::string sizes;
  for (int64_t s : t.sizes()) sizes += (sizes.empty() ? "" : ", ") + std::to_string(s);
  return "size=(" + sizes + (t.dim() == 1 ? ",)" : ")");
}

// tensor(indices=tensor(...),
//        values=tensor(...),
//        size=(2, 3), nnz=3, layout=run_length), where nnz counts the values
std::string components_text(const Tensor& t) {
  std::string out = "tensor(";
  const PrintOptions o = print_options();
  const auto& names = core::layout_components(static_cast<int>(t.layout()));
  for (const std::string& name : names) {
    const Tensor part = t.component(name);
    const Tensor host = part.is_cpu() ? part : part.cpu();
    const std::string head = name + "=tensor(";
    const std::string body =
        host.numel() == 0 ? "[]" : Printer(host, o, print_style()).body(7 + head.size());
    out += head + body + suffixes(part) + "),\n       ";
  }
  const Tensor values = t.component(names.back());
  std::string properties = values.dim() > 0 ? ", nnz=" + std::to_string(values.size(0)) : "";
  for (const std::string& flag : core::layout_flags(static_cast<int>(t.layout()))) {
    if (t.layout_flag(flag)) properties += ", " + flag + "=True";
  }
  return out + sizes_text(t) + properties + ", layout=" + std::string(toString(t.layout())) +
         history(t) + ")";
}

}  // namespace

PrintStyle print_style() noexcept {
  return autograd::mode() & autograd::kEra04 ? PrintStyle::Era04 : g_style.load();
}
void set_print_style(PrintStyle s) noexcept { g_style.store(s); }

PrintOptions print_options() {
  std::lock_guard lock(g_mutex);
  return g_options;
}

void set_print_options(const PrintOptions& o) {
  std::lock_guard lock(g_mutex);
  g_options = o;
}

std::string to_text(const Tensor& t) {
  if (print_style() == PrintStyle::Libtorch) return libtorch_text(t);
  if (!t.defined()) return "tensor(undefined)";
  NoGradGuard no_grad;
  if (t.layout() != kStrided) return components_text(t);
  PrintOptions o = print_options();
  Tensor host = t.is_cpu() ? t.detach() : t.detach().cpu();
  if (static_cast<int>(t.scalar_type()) >= TN_DTYPE_FOREIGN) host = host.to(kFloat);
  std::string body = t.numel() == 0 ? "[]" : Printer(host, o, print_style()).body(7);
  return "tensor(" + body + suffixes(t) + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << to_text(t); }

void Tensor::print() const { std::puts(to_text(*this).c_str()); }

}  // namespace tenon
