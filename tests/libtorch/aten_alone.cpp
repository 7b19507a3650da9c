// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A program that includes ATen alone: its tensors print as libtorch prints them.
#include <ATen/ATen.h>

#include <iostream>

int main() { std::cout << at::ones({2}) * 0.5 << "\n"; }
