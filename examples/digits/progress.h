// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One line per finished epoch, and on a terminal a bar while it runs.
#pragma once

#include "train.h"

namespace digits {

Progress progress_bar(int epochs, int64_t images);

}  // namespace digits
