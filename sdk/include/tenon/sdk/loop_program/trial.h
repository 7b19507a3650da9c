// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A comment, which changes nothing: a program's text that ends with it is a candidate of a search,
// most of which run a few times and never again. A backend need not keep its code on disk.
#ifndef TENON_SDK_LOOP_PROGRAM_TRIAL_H_
#define TENON_SDK_LOOP_PROGRAM_TRIAL_H_

#include <string_view>

namespace tenon::sdk::loop_program {

inline constexpr std::string_view trial_mark = "# trial\n";

inline bool is_trial(std::string_view text) {
  return text.size() >= trial_mark.size() &&
         text.substr(text.size() - trial_mark.size()) == trial_mark;
}

}  // namespace tenon::sdk::loop_program

#endif
