// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The layers as functions, for F:: as in namespace F = tenon::nn::functional.
#pragma once

#include "tenon/nn/functional/activation.h"
#include "tenon/nn/functional/attention.h"
#include "tenon/nn/functional/conv.h"
#include "tenon/nn/functional/dropout.h"
#include "tenon/nn/functional/embedding.h"
#include "tenon/nn/functional/linear.h"
#include "tenon/nn/functional/loss.h"
#include "tenon/nn/functional/normalization.h"
#include "tenon/nn/functional/padding.h"
#include "tenon/nn/functional/pooling.h"
#include "tenon/nn/functional/upsampling.h"
#include "tenon/nn/functional/vision.h"
