// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// libtorch's one header: the names of programs, mapped onto Tenon.
#pragma once

#include <ATen/ATen.h>
#include <ATen/AccumulateType.h>
#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/NumericUtils.h>
#include <ATen/OpMathType.h>
#include <ATen/ScalarOps.h>
#include <ATen/SymIntFunctions.h>
#include <ATen/TensorUtils.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/from_blob.h>
#include <ATen/record_function.h>
#include <c10/core/Backend.h>
#include <c10/core/QScheme.h>
#include <c10/util/Logging.h>
#include <c10/util/flat_hash_map.h>
#include <c10/util/intrusive_ptr.h>
#include <c10/util/order_preserving_flat_hash_map.h>
#include <c10/util/typeid.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/utils/memory.h>
#include <torch/cuda.h>
#include <torch/fft.h>
#include <torch/linalg.h>
#include <torch/macros.h>
#include <torch/mps.h>
#include <torch/optim/serialize.h>
#include <torch/special.h>
#include <torch/stream.h>
#include <torch/xpu.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cassert>
#include <cmath>
#include <complex>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <sstream>
#include <stack>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <typeindex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <ranges>
#include <span>
#endif

#include "tenon/data/chunk.h"
#include "tenon/data/detail/data_shuttle.h"
#include "tenon/data/detail/sequencers.h"
#include "tenon/print.h"
#include "tenon/tenon.h"
// Declares torch::jit::Module, as libtorch's does; an install without Tenon::jit has none.
#if __has_include(<torch/csrc/jit/api/object.h>)
#include <torch/csrc/jit/api/object.h>
#endif
