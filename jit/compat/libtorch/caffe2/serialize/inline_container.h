// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The entries of an archive, by libtorch's name. What getRecord gives lives as long as the reader.
#pragma once

#include <torch/namespaces.h>

#include "tenon/jit/archive_reader.h"

namespace caffe2::serialize {
using PyTorchStreamReader = ::tenon::jit::ArchiveReader;
}
