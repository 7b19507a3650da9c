// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the test's own minor adds to core: a service, a client function, and the count of plugins
// with the new field.
#include "tenon/abi/client.h"

int g_mottos = 0;
int32_t test_answer() { return 42; }
int32_t tn_answer() { return 42 + 100 * g_mottos; }
