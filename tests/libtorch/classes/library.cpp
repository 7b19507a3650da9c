// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The classes as a library: torch.classes.load_library.
#include "classes.h"
