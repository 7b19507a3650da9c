/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
static __thread int counter;
int* counter_of_this_thread(void);
int* counter_of_this_thread(void) { return &counter; }
