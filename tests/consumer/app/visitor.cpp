// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <tenon/sdk/plugin.h>

TN_PLUGIN(tenon::sdk::PluginInfo{}.name("visitor").version("1.0").device("visitor").host_memory());
