// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Everything.
#pragma once

#include "tenon/autocast.h"
#include "tenon/autograd.h"
#include "tenon/autograd/anomaly_mode.h"
#include "tenon/autograd/checkpoint.h"
#include "tenon/autograd/forward_ad.h"
#include "tenon/autograd/functional.h"
#include "tenon/autograd/saved_tensors_hooks.h"
#include "tenon/data.h"
#include "tenon/formatting.h"
#include "tenon/from_file.h"
#include "tenon/graph.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tenon/optim/grad_scaler.h"
#include "tenon/print.h"
#include "tenon/profiler.h"
#include "tenon/serialize.h"
#include "tenon/stream.h"
#include "tenon/tensor.h"
#include "tenon/vmap.h"
