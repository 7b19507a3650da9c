/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The entry symbol is a variable. */
__attribute__((visibility("default"))) int tenon_plugin_v1 = 1;
