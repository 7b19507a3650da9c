// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Declares the archives of tenon/serialize.h, for what can be saved and loaded.
#pragma once

namespace tenon::serialize {
class OutputArchive;
class InputArchive;
}  // namespace tenon::serialize
