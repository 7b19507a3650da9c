// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// All of nn: modules, their functional forms, initializers and helpers.
#pragma once

#include "tenon/enum.h"
#include "tenon/nn/cloneable.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/init.h"
#include "tenon/nn/module.h"
#include "tenon/nn/modules/activation.h"
#include "tenon/nn/modules/any.h"
#include "tenon/nn/modules/batchnorm.h"
#include "tenon/nn/modules/containers.h"
#include "tenon/nn/modules/conv.h"
#include "tenon/nn/modules/dropout.h"
#include "tenon/nn/modules/embedding.h"
#include "tenon/nn/modules/linear.h"
#include "tenon/nn/modules/loss.h"
#include "tenon/nn/modules/normalization.h"
#include "tenon/nn/modules/padding.h"
#include "tenon/nn/modules/pooling.h"
#include "tenon/nn/modules/rnn.h"
#include "tenon/nn/modules/sequential.h"
#include "tenon/nn/modules/upsampling.h"
#include "tenon/nn/modules/vision.h"
#include "tenon/nn/pimpl.h"
#include "tenon/nn/utils.h"
