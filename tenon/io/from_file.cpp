// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/from_file.h"

#include <memory>

#include "tenon/creation.h"
#include "tenon/io/mapped_file.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon {

Tensor from_file(const std::string& filename, std::optional<bool> shared,
                 std::optional<int64_t> size, const TensorOptions& options) {
  const int64_t n = size.value_or(0);
  TENON_CHECK(n >= 0, ValueError, "from_file: size must not be negative, got ", n);
  TENON_CHECK(options.device().is_cpu() && options.layout() == kStrided, ValueError,
              "from_file: a file can be a strided tensor of the host, got device ",
              options.device().str());
  const uint64_t item = elementSize(options.dtype());
  TENON_CHECK(static_cast<uint64_t>(n) <= (uint64_t{1} << 62) / item, ValueError,
              "from_file: size is too large, got ", n);
  if (n == 0) return empty({0}, options);
  auto file = std::make_shared<serialize::detail::MappedFile>(
      "from_file", filename, static_cast<uint64_t>(n) * item, shared.value_or(false));
  void* const data = file->data();
  return from_blob(
      data, {n}, [file](void*) mutable { file.reset(); }, options);
}

}  // namespace tenon
