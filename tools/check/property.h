// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the runner checks of an operator, and what it found.
#pragma once

#include <iterator>
#include <string>
#include <vector>

namespace tenon::check {

// Each is explained in property.def.
enum class Property {
#define TENON_PROPERTY(Enum, name) Enum,
#include "tools/check/property.def"
#undef TENON_PROPERTY
};
inline constexpr const char* kPropertyNames[] = {
#define TENON_PROPERTY(Enum, name) name,
#include "tools/check/property.def"
#undef TENON_PROPERTY
};
inline constexpr int kProperties = static_cast<int>(std::size(kPropertyNames));

enum class Verdict { Passed, Failed, NotRun };

struct Finding {
  Property property;
  Verdict verdict;
  std::string reason;
};

// Properties that do not apply (no in-place form, no gradient) leave nothing.
class Findings {
 public:
  void passed(Property p) { all_.push_back({p, Verdict::Passed, ""}); }
  void failed(Property p, std::string why) { all_.push_back({p, Verdict::Failed, std::move(why)}); }
  void not_run(Property p, std::string why) {
    all_.push_back({p, Verdict::NotRun, std::move(why)});
  }
  // Failed with `wrong`, unless it is empty.
  void judge(Property p, std::string wrong) {
    wrong.empty() ? passed(p) : failed(p, std::move(wrong));
  }
  const std::vector<Finding>& all() const { return all_; }

 private:
  std::vector<Finding> all_;
};

}  // namespace tenon::check
