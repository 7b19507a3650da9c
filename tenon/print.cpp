// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// tensor([2., 3.]): one format for all elements, aligned, shortened in the middle when large.
#include "tenon/print.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <limits>
#include <mutex>
#include <ostream>
#include <vector>

#include "runtime/base/leaf_mutex.h"
#include "tenon/autograd/node.h"
#include "tenon/core/batched.h"
#include "tenon/core/layout.h"
#include "tenon/ops.h"
#include "tenon/print_format.h"
#include "tenon/print_libtorch.h"
#include "tenon/quantized.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace {

std::atomic<PrintStyle> g_style{PrintStyle::Tenon};
core::LeafMutex g_mutex;
PrintOptions g_options;

class Printer {
 public:
  Printer(const Tensor& t, const PrintOptions& o, PrintStyle style)
      : host_(t),
        o_(o),
        shorten_(t.numel() > o.threshold),
        format_(shown(), t.scalar_type(), o, style) {}

  std::string body(std::size_t indent) {
    if (host_.dim() == 0) return factor(indent) + format_.raw(host_.item());
    return factor(indent) + level(0, 0, indent);
  }

 private:
  // "1.00000e-05 *" and a new line, where elements are shown as multiples of that.
  std::string factor(std::size_t indent) const {
    if (format_.scale() == 1) return "";
    char text[32];
    std::snprintf(text, sizeof text, "%.5e *\n", format_.scale());
    return text + std::string(indent, ' ');
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
  NumberFormat format_;
};

// PyTorch 0.4 did not say it.
std::string history(const Tensor& t) {
  std::string out;
  if (print_style() == PrintStyle::Era04) return out;
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

PrintOptions print_profile(std::string_view name) {
  PrintOptions o;
  if (name == "default") return o;
  if (name == "short") {
    o.precision = 2;
    o.edge_items = 2;
    return o;
  }
  TENON_CHECK(name == "full", ValueError, "print_profile: expected default, short or full, got ",
              name);
  o.threshold = std::numeric_limits<int64_t>::max();
  return o;
}

void set_print_options(const PrintOptions& o) {
  std::lock_guard lock(g_mutex);
  g_options = o;
}

std::string to_text(const Tensor& t) { return to_text(t, print_style()); }

namespace {

std::string quantized_text(const Tensor& t, PrintStyle style) {
  const ScalarType dtype = quantized_dtype(t);
  const char* name = dtype == kQInt8 ? "qint8" : dtype == kQUInt8 ? "quint8" : "qint32";
  if (is_quantized_per_channel(t))
    return core::join("quantized(", to_text(dequantize(t), style), ", dtype=", name,
                      ", scales=", to_text(q_per_channel_scales(t), style),
                      ", zero_points=", to_text(q_per_channel_zero_points(t), style),
                      ", axis=", q_per_channel_axis(t), ")");
  return core::join("quantized(", to_text(dequantize(t), style), ", dtype=", name,
                    ", scale=", q_scale(t), ", zero_point=", q_zero_point(t), ")");
}

}  // namespace

std::string to_text(const Tensor& t, PrintStyle style) {
  if (is_quantized(t)) return quantized_text(t, style);
  if (style == PrintStyle::Libtorch) return libtorch_text(t);
  if (!t.defined()) return "tensor(undefined)";
  NoGradGuard no_grad;
  if (t.layout() != kStrided) return components_text(t);
  if (t.is_meta()) return "tensor(..., " + sizes_text(t) + suffixes(t) + ")";
  PrintOptions o = print_options();
  Tensor host = t.is_cpu() ? t.detach() : t.detach().cpu();
  host = host.to(core::computing_dtype(t.scalar_type()));
  std::string body = t.numel() == 0 ? "[]" : Printer(host, o, style).body(7);
  return "tensor(" + body + suffixes(t) + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) {
  const bool is_slice = t.defined() && t.unsafeGetTensorImpl()->batched() && !is_quantized(t);
  if (!is_slice) return out << to_text(t);
  const core::Batch& b = *t.unsafeGetTensorImpl()->batch;
  return out << "BatchedTensor(lvl=" << b.level->number << ", bdim=" << b.dim << ", value=\n"
             << Tensor(core::Impl::share(b.value)) << "\n)";
}

void Tensor::print() const { std::puts(to_text(*this).c_str()); }

}  // namespace tenon
