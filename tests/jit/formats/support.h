// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of saved programs.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jit/formats/zip.h"
#include "tenon/jit.h"
#include "tenon/tenon.h"

namespace tenon::jit {

inline std::string data(const std::string& name) { return TENON_TEST_JIT "/data/" + name; }

inline Module define(const std::string& text) {
  Module m("__torch__.Program");
  m.define(text);
  return m;
}

// 0, 1, ... n - 1 around 0, in eighths.
inline Tensor counted(IntArrayRef sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return ((arange(n, kFloat) - n / 2) / 8).view(sizes);
}

// The archive with one entry changed.
inline std::string changed(const std::string& name, const std::string& entry,
                           const std::function<std::string(std::string)>& change) {
  const auto zip = formats::ZipReader::open(data(name));
  const std::string root = zip->root();
  formats::ZipWriter out(root.substr(0, root.size() - 1));
  for (const auto& e : zip->entries()) {
    const std::string short_name = e.name.substr(root.size());
    const std::string content = zip->read(e);
    out.add(short_name, short_name == entry ? change(content) : content);
  }
  return out.finish();
}

inline void add_tensors(const IValue& v, std::vector<Tensor>& out) {
  if (v.isTensor()) {
    out.push_back(v.toTensor());
  } else if (v.isTuple()) {
    for (const IValue& each : v.toTupleRef().elements()) add_tensors(each, out);
  } else if (v.isList()) {
    for (const IValue& each : v.toListRef().items) add_tensors(each, out);
  }
}

// Elements of the results, in order, against those of expected.json.
inline void expect_results(const std::string& name, const std::vector<IValue>& inputs) {
  ExtraFiles extra{{"expected.json", ""}};
  const Module m = load(data(name), std::nullopt, extra);
  const auto expected = nlohmann::json::parse(extra.at("expected.json"))[0];
  std::vector<Tensor> made;
  add_tensors(m.forward(inputs), made);
  ASSERT_EQ(made.size(), expected.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Tensor flat = made[i].detach().to(kDouble).reshape({-1});
    ASSERT_EQ(flat.numel(), static_cast<int64_t>(expected[i].size())) << i;
    for (int64_t k = 0; k < flat.numel(); ++k) {
      const double wanted = expected[i][static_cast<std::size_t>(k)].get<double>();
      EXPECT_NEAR(flat[k].item<double>(), wanted, 1e-5 * std::max(1.0, std::abs(wanted)))
          << "result " << i << ", element " << k;
    }
  }
}

}  // namespace tenon::jit
