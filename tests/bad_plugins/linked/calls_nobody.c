/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
int nobody(void);
int calls_nobody(void);
int calls_nobody(void) { return nobody(); }
