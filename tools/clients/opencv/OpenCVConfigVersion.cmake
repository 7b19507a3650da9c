# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
set(PACKAGE_VERSION 4.1.0)
set(PACKAGE_VERSION_COMPATIBLE TRUE)
