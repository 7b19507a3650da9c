// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Never built: the row compile_all times the compiler on it.
#include <torch/torch.h>

int main() {}
