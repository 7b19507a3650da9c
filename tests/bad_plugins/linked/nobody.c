/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
int nobody(void);
__attribute__((visibility("default"))) int nobody(void) { return 0; }
