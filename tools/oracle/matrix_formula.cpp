// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "matrix_formula.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/tensor.h"

namespace tenon::oracle {
namespace {

Tensor adj(const Tensor& a) { return a.transpose(-2, -1).conj(); }
Tensor identity(int64_t n, const Tensor& like) {
  return tenon::eye(n, TensorOptions().dtype(like.scalar_type()));
}
Tensor diagonal_matrix(const Tensor& v) { return tenon::diag_embed(v, 0, -2, -1); }
Tensor first_columns(const Tensor& a, int64_t k) { return a.narrow(-1, 0, k); }
Tensor first_rows(const Tensor& a, int64_t k) { return a.narrow(-2, 0, k); }

// The argument and the outputs in double precision on the host.
struct Factors {
  Tensor a;
  std::vector<Tensor> out;
  bool complex = false;
  double tol = 0;
  std::string uplo = "L";
  bool hermitian = false;
  std::string wrong;

  int64_t shorter() const { return std::min(a.size(-1), a.size(-2)); }
  void equal(const char* what, const Tensor& left, const Tensor& right) {
    if (!wrong.empty() || left.numel() == 0) return;
    const Tensor r = right.expand(left.sizes());
    const double off = (left - r).abs().max().item<double>();
    const double allowed = tol * std::max(1.0, r.abs().max().item<double>());
    if (!(off <= allowed)) wrong = core::join(what, ": off by ", off, ", allowed ", allowed);
  }
  void orthonormal(const char* what, const Tensor& q) {
    equal(what, tenon::matmul(adj(q), q), identity(q.size(-1), q));
  }
  void zero(const char* what, const Tensor& t) { equal(what, t, tenon::zeros_like(t)); }
};

// The permutation that LAPACK's exchanges make.
Tensor permutation_of(const Tensor& pivots, int64_t m, const Tensor& like) {
  std::vector<int64_t> sizes = pivots.sizes().vec();
  sizes.insert(sizes.end() - 1, m);
  return std::get<0>(tenon::lu_unpack(tenon::zeros(sizes, like.options()), pivots, false, true));
}

// Pivots stay integers.
Tensor precise(const Tensor& t, bool complex) {
  const Tensor host = t.detach().to(kCPU);
  if (host.scalar_type() == kInt) return host;
  return host.to(complex || host.is_complex() ? kComplexDouble : kDouble);
}

void svd(Factors& f, const Tensor& vh) {
  const Tensor &u = f.out[0], s = f.out[1];
  const int64_t k = f.shorter();
  f.equal("U S Vh = A", tenon::matmul(first_columns(u, k) * s.unsqueeze(-2), first_rows(vh, k)),
          f.a);
  f.orthonormal("U^H U = I", u);
  f.orthonormal("Vh Vh^H = I", adj(vh));
}

void eigh(Factors& f) {
  const Tensor &l = f.out[0], &v = f.out[1];
  const Tensor half = f.uplo == "U" || f.uplo == "u" ? f.a.triu(1) : f.a.tril(-1);
  const Tensor whole =
      half + adj(half) + diagonal_matrix(tenon::real(tenon::diagonal(f.a, 0, -2, -1)));
  f.equal("A V = V L", tenon::matmul(whole, v), v * l.unsqueeze(-2));
  f.orthonormal("V^H V = I", v);
}

void eig(Factors& f) {
  const Tensor &l = f.out[0], &v = f.out[1];
  f.equal("A V = V L", tenon::matmul(f.a.to(kComplexDouble), v), v * l.unsqueeze(-2));
  const Tensor norms = (v * v.conj()).sum(-2);
  f.equal("norms", norms, tenon::ones_like(norms));
}

void qr(Factors& f, bool with_q) {
  const Tensor &q = f.out[0], &r = f.out[1];
  f.zero("R below the diagonal", r.tril(-1));
  if (!with_q)
    return f.equal("R^H R = A^H A", tenon::matmul(adj(r), r), tenon::matmul(adj(f.a), f.a));
  f.equal("Q R = A", tenon::matmul(q, r), f.a);
  f.orthonormal("Q^H Q = I", q);
}

void geqrf(Factors& f) {
  const Tensor &packed = f.out[0], &tau = f.out[1];
  const int64_t m = f.a.size(-2), k = tau.size(-1);
  Tensor q = identity(m, packed);
  for (int64_t i = 0; i < k; ++i) {
    const Tensor unit = identity(m, packed).narrow(-1, i, 1);
    const Tensor v =
        packed.narrow(-1, i, 1) * (tenon::arange(m) > i).to(kDouble).unsqueeze(-1) + unit;
    const Tensor h =
        identity(m, packed) - tau.narrow(-1, i, 1).unsqueeze(-1) * tenon::matmul(v, adj(v));
    q = tenon::matmul(q, h);
  }
  f.equal("Q R = A", tenon::matmul(q, packed.triu()), f.a);
  f.orthonormal("Q^H Q = I", q);
}

void lu(Factors& f, const Tensor& p, const Tensor& l, const Tensor& u) {
  f.equal("P L U = A", tenon::matmul(p, tenon::matmul(l, u)), f.a);
  f.orthonormal("P^H P = I", p);
  const int64_t k = l.size(-1);
  f.equal("L on and above the diagonal", first_rows(l, k).triu(), identity(k, l));
  f.zero("U below the diagonal", u.tril(-1));
  const double limit = f.complex ? std::sqrt(2.0) : 1.0;
  if (f.wrong.empty() && l.numel() > 0 && l.abs().max().item<double>() > limit * (1 + 1e-5))
    f.wrong = "an element of L is larger than its pivot";
}

void lu_factor(Factors& f) {
  const Tensor &packed = f.out[0], &pivots = f.out[1];
  const int64_t m = f.a.size(-2), k = f.shorter();
  Tensor unit = identity(m, packed).narrow(-1, 0, k);
  lu(f, permutation_of(pivots, m, packed), first_columns(packed, k).tril(-1) + unit,
     first_rows(packed, k).triu());
}

void ldl(Factors& f) {
  const Tensor half = f.a.tril(-1), d = tenon::diagonal(f.a, 0, -2, -1);
  const bool hermitian = f.hermitian || !f.complex;
  const Tensor whole = hermitian ? half + adj(half) + diagonal_matrix(tenon::real(d))
                                 : half + half.transpose(-2, -1) + diagonal_matrix(d);
  f.equal("solution = I", tenon::linalg_ldl_solve(f.out[0], f.out[1], whole, f.hermitian),
          identity(f.a.size(-1), f.a));
}

// Along the last dimension; of complex numbers both parts.
Tensor gathered(const Tensor& t, const Tensor& index) {
  if (!t.is_complex()) return t.gather(-1, index);
  std::vector<int64_t> sizes = index.sizes().vec();
  sizes.push_back(2);
  const Tensor parts = index.unsqueeze(-1).expand(sizes).contiguous();
  return tenon::view_as_complex(tenon::view_as_real(t).gather(-2, parts));
}

using MatrixFormula = void (*)(Factors&);
constexpr std::pair<const char*, MatrixFormula> kFormulas[] = {
    {"svd", [](Factors& f) { svd(f, f.out[2]); }},
    {"svd_v", [](Factors& f) { svd(f, adj(f.out[2])); }},
    {"eigh", eigh},
    {"eig", eig},
    {"qr", [](Factors& f) { qr(f, true); }},
    {"qr_r", [](Factors& f) { qr(f, false); }},
    {"geqrf", geqrf},
    {"lu", [](Factors& f) { lu(f, f.out[0], f.out[1], f.out[2]); }},
    {"lu_factor", lu_factor},
    {"ldl", ldl},
};

MatrixFormula find_formula(const std::string& name) {
  for (const auto& [known, formula] : kFormulas)
    if (name == known) return formula;
  return nullptr;
}

}  // namespace

bool is_matrix_formula(const std::string& name) { return find_formula(name) != nullptr; }

std::string judge_matrices(const json& c, const Arguments& args,
                           const std::vector<Result>& results) {
  const json& check = c.at("check");
  Factors f;
  const Tensor a(args.tensors().at(0));
  f.complex = a.is_complex();
  f.a = precise(a, f.complex);
  f.tol = check.at("tol").get<double>();
  f.uplo = c.at("args").value("UPLO", std::string("L"));
  f.hermitian = c.at("args").value("hermitian", false);
  for (const Result& r : results) f.out.push_back(precise(Tensor(r.tensor), f.complex));
  find_formula(check.at("formula").get<std::string>())(f);
  return f.wrong;
}

// To each of torch's values in turn belongs the nearest of ours that is still free.
std::vector<Result> in_order(const CaseFile& file, const json& c, std::vector<Result> results) {
  const auto check = c.find("check");
  if (check == c.end() || check->value("unordered", json::array()).empty()) return results;
  const std::size_t which = check->at("unordered").at(0).get<std::size_t>();
  const json& expected = c.at("outputs").at(which);
  if (!CaseFile::is_ref(expected) || !results.at(which).tensor) return results;
  const Values truth = file.values(expected), ours = values_of(*results[which].tensor);
  if (truth.sizes != ours.sizes || truth.sizes.empty() || truth.real.empty()) return results;
  const auto n = static_cast<std::size_t>(truth.sizes.back());
  const auto at = [](const Values& v, std::size_t i) {
    return std::complex<double>(v.real[i], v.imaginary.empty() ? 0 : v.imaginary[i]);
  };
  std::vector<int64_t> order(truth.real.size());
  for (std::size_t row = 0; row < truth.real.size(); row += n) {
    std::vector<bool> taken(n, false);
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t best = n;
      for (std::size_t k = 0; k < n; ++k) {
        if (taken[k]) continue;
        if (best == n || std::abs(at(ours, row + k) - at(truth, row + i)) <
                             std::abs(at(ours, row + best) - at(truth, row + i)))
          best = k;
      }
      taken[best] = true;
      order[row + i] = static_cast<int64_t>(best);
    }
  }
  const Tensor index = tenon::tensor(ArrayRef<int64_t>(order)).reshape(truth.sizes);
  for (Result& r : results) {
    if (!r.tensor) continue;
    const Tensor t(r.tensor);
    if (t.sizes() == index.sizes()) {
      r.tensor = gathered(t, index.to(t.device())).getIntrusivePtr();
    } else if (t.dim() == index.dim() + 1 && t.numel() > 0) {
      const Tensor columns = index.unsqueeze(-2).expand(t.sizes()).contiguous();
      r.tensor = gathered(t, columns.to(t.device())).getIntrusivePtr();
    }
  }
  return results;
}

void take_part(Values& v, const std::string& part) {
  const std::size_t rank = v.sizes.size();
  if (rank < 2 || v.sizes[rank - 1] != v.sizes[rank - 2]) return;
  const auto n = static_cast<std::size_t>(v.sizes[rank - 1]);
  const bool complex = !v.imaginary.empty();
  for (std::size_t m = 0; n > 0 && m < v.real.size(); m += n * n) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        const std::size_t a = m + i * n + j, b = m + j * n + i;
        if (part == "hermitian") {
          const double re = (v.real[a] + v.real[b]) / 2;
          v.real[a] = v.real[b] = re;
          if (!complex) continue;
          const double im = (v.imaginary[a] - v.imaginary[b]) / 2;
          v.imaginary[a] = im;
          v.imaginary[b] = -im;
        } else if (i != j) {
          const std::size_t other = part == "lower" ? b : a;
          v.real[other] = 0;
          if (complex) v.imaginary[other] = 0;
        }
      }
    }
  }
}

}  // namespace tenon::oracle
