// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A library that has nothing that is looked for.
extern "C" int tenon_fake_empty() { return 0; }
