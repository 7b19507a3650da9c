// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Everything.
#pragma once

#include "tenon/autograd.h"
#include "tenon/data.h"
#include "tenon/graph.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tenon/print.h"
#include "tenon/serialize.h"
#include "tenon/stream.h"
#include "tenon/tensor.h"
