// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Optimizers and schedules of their learning rates.
#pragma once

#include "tenon/optim/adadelta.h"
#include "tenon/optim/adagrad.h"
#include "tenon/optim/adam.h"
#include "tenon/optim/adamax.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/asgd.h"
#include "tenon/optim/lbfgs.h"
#include "tenon/optim/optimizer.h"
#include "tenon/optim/radam.h"
#include "tenon/optim/rmsprop.h"
#include "tenon/optim/rprop.h"
#include "tenon/optim/schedulers/cyclic_lr.h"
#include "tenon/optim/schedulers/lr_scheduler.h"
#include "tenon/optim/schedulers/reduce_on_plateau_scheduler.h"
#include "tenon/optim/schedulers/step_lr.h"
#include "tenon/optim/sgd.h"
#include "tenon/optim/sparse_adam.h"
