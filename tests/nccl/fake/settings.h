// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What control.h sets.
#pragma once

#include <string>

namespace tenon::fake {

std::string setting(const std::string& name);  // empty: unset
// Takes the setting "NAME=CODE", or "CODE" where `name` is empty. 0: it is not set for the name.
int take_code(const std::string& setting_name, const std::string& name);

}  // namespace tenon::fake
