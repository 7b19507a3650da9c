// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which instruction set the kernels use. Chosen once, when the plugin starts; TENON_CPU_ISA names
// another one.
#pragma once

#include <string_view>

namespace tenon::cpu {

enum class Isa { Base, Avx2, Avx3 };

namespace detail {
extern Isa g_isa;
}
inline Isa isa() noexcept { return detail::g_isa; }

// Before any kernel. False if the machine or this build lacks the ISA of that name ("base", "avx2",
// "avx3").
bool choose_isa(std::string_view name);
std::string_view isa_name() noexcept;

}  // namespace tenon::cpu
