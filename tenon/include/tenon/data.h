// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Datasets, samplers, transforms and data loaders.
#pragma once

#include "tenon/data/combined.h"
#include "tenon/data/dataloader.h"
#include "tenon/data/datasets.h"
#include "tenon/data/example.h"
#include "tenon/data/samplers.h"
#include "tenon/data/transforms.h"
#include "tenon/data/worker.h"

namespace tenon::data {
// As libtorch names them, too.
using datasets::BatchDataset;
using datasets::Dataset;
}  // namespace tenon::data
