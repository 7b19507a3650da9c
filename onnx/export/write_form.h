// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tenon::onnx::exporting {

class Call;
struct Form;

// The nodes of the form for the call. Refusal where the form does not fit it.
void write_form(Call& call, const Form& form);

}  // namespace tenon::onnx::exporting
