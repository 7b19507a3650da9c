// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Everything of distributed training.
#pragma once

#include "tenon/distributed/file_store.h"
#include "tenon/distributed/functions.h"
#include "tenon/distributed/process_group.h"
#include "tenon/distributed/store.h"
#include "tenon/distributed/tcp_store.h"
#include "tenon/distributed/types.h"
#include "tenon/distributed/work.h"
