// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Columns without brackets, a line with the type below them: what programs that print through
// libtorch expect.
#include "tenon/print_libtorch.h"

#include <cmath>
#include <iomanip>
#include <sstream>
#include <vector>

#include "tenon/core/layout.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

constexpr int64_t kLineWidth = 80;

struct Columns {
  double scale = 1;
  int width = 1;
  bool scientific = false, fixed = false;
};

int magnitude(double v) { return v == 0 ? 1 : static_cast<int>(std::floor(std::log10(v))) + 1; }

Columns choose(const Tensor& t, const std::vector<double>& values) {
  Columns c;
  bool integers = true, any = false;
  double low = 0, high = 0;
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    integers = integers && v == std::ceil(v);
    double a = std::fabs(v);
    low = any ? std::min(low, a) : a;
    high = any ? std::max(high, a) : a;
    any = true;
  }
  if (t.numel() == 0) return c;
  int exp_low = any ? magnitude(low) : 1, exp_high = any ? magnitude(high) : 1;
  if (integers) {
    c.scientific = exp_high > 9;
    c.width = c.scientific ? 11 : exp_high + 1;
  } else if (exp_high - exp_low > 4) {
    c.scientific = true;
    c.width = std::abs(exp_high) > 99 || std::abs(exp_low) > 99 ? 12 : 11;
  } else {
    c.fixed = true;
    if (exp_high > 5 || exp_high < 0) {
      c.width = 7;
      c.scale = std::pow(10, exp_high - 1);
    } else {
      c.width = exp_high == 0 ? 7 : exp_high + 6;
    }
  }
  return c;
}

void set_format(std::ostream& out, const Columns& c) {
  if (c.scientific)
    out << std::scientific << std::setprecision(4);
  else if (c.fixed)
    out << std::fixed << std::setprecision(4);
  else
    out << std::defaultfloat;
}

void print_scale(std::ostream& out, double scale) { out << std::defaultfloat << scale << " *\n"; }

void print_matrix(std::ostream& out, const Tensor& t, const double* v, const Columns& c,
                  int64_t indent) {
  const int64_t rows = t.size(0), columns = t.size(1);
  const int64_t per_line = (kLineWidth - indent) / (c.width + 1);
  for (int64_t first = 0; first < columns; first += per_line) {
    int64_t last = std::min(first + per_line, columns) - 1;
    if (per_line < columns) {
      if (first != 0) out << '\n';
      out << "Columns " << first + 1 << " to " << last + 1;
      out << std::setw(static_cast<int>(indent)) << "";
    }
    if (c.scale != 1)
      print_scale(out, c.scale);
    else if (per_line < columns)
      out << ' ';
    set_format(out, c);
    for (int64_t r = 0; r < rows; ++r) {
      // libtorch indents each row but the first.
      if (indent && r > 0) out << std::setw(static_cast<int>(indent)) << "";
      for (int64_t k = first; k <= last; ++k) {
        out << std::setw(c.width) << v[r * columns + k] / c.scale;
        out << (k == last ? '\n' : ' ');
      }
    }
  }
}

void print_stack(std::ostream& out, const Tensor& t, const double* v, const Columns& c) {
  const int64_t lead = t.dim() - 2, matrix = t.size(-1) * t.size(-2);
  if (t.numel() == 0) return;
  std::vector<int64_t> at(static_cast<std::size_t>(lead), 0);
  Tensor slice = t;
  for (int64_t d = 0; d < lead; ++d) slice = slice.select(0, 0);
  for (int64_t m = 0; m < t.numel() / matrix; ++m) {
    if (m > 0) out << '\n';
    out << '(';
    for (int64_t i : at) out << i + 1 << ',';
    out << ".,.) = \n";
    print_matrix(out, slice, v + m * matrix, c, 1);
    for (int64_t d = lead - 1; d >= 0; --d) {
      if (++at[static_cast<std::size_t>(d)] < t.size(d)) break;
      at[static_cast<std::size_t>(d)] = 0;
    }
  }
}

// "Run" of run_length.
std::string layout_word(const Tensor& t) {
  if (t.layout() == kStrided) return "";
  std::string word(toString(t.layout()));
  word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
  return word.substr(0, word.find('_'));
}

std::string type_line(const Tensor& t) {
  std::string device = t.is_cpu()    ? "CPU"
                       : t.is_cuda() ? "CUDA"
                       : t.is_meta() ? "Meta"
                                     : t.device().str();
  std::string sizes;
  for (int64_t s : t.sizes()) sizes += (sizes.empty() ? "" : ",") + std::to_string(s);
  return "[ " + layout_word(t) + device + std::string(toString(t.scalar_type())) + "Type{" + sizes +
         "} ]";
}

std::string libtorch_components(const Tensor& t) {
  const std::string line = type_line(t);
  std::string out = line.substr(0, line.find('{')) + "{}\n";
  for (const std::string& name : core::layout_components(static_cast<int>(t.layout()))) {
    out += name + ":\n" + libtorch_text(t.component(name)) + "\n";
  }
  return out + "size:\n" + core::text(t.sizes()) + "\n]";
}

}  // namespace

std::string libtorch_text(const Tensor& given) {
  if (!given.defined()) return "[ Tensor (undefined) ]";
  NoGradGuard no_grad;
  std::ostringstream out;
  if (given.layout() != kStrided) return libtorch_components(given);
  if (given.is_meta()) return type_line(given);
  Tensor t = given.detach().cpu().to(kDouble).contiguous();
  std::vector<double> values(t.const_data_ptr<double>(), t.const_data_ptr<double>() + t.numel());
  if (t.dim() == 0) {
    out << std::defaultfloat << values[0] << '\n';
  } else if (t.dim() == 1) {
    Columns c = choose(t, values);
    if (t.numel() > 0) {
      if (c.scale != 1) print_scale(out, c.scale);
      set_format(out, c);
      for (double v : values) out << std::setw(c.width) << v / c.scale << '\n';
    }
  } else if (t.dim() == 2) {
    if (t.numel() > 0) print_matrix(out, t, values.data(), choose(t, values), 0);
  } else {
    print_stack(out, t, values.data(), choose(t, values));
  }
  return out.str() + type_line(given);
}

}  // namespace tenon
