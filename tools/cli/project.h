// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The files of tools/cli/project/, as text. @NAME@ stands for the plugin's name, @PREFIX@ for where
// Tenon is installed.
#pragma once

namespace tenon::command::project {

extern const char* const kCMakeLists;
extern const char* const kPlugin;
extern const char* const kReadme;

}  // namespace tenon::command::project
