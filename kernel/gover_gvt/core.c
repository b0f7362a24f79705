/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The scheduler core, compiled into the module from the very files that user space compiles. Must
 * never hold a line of its own.
 */
#include "sched/sched.c"
#include "sched/discipline.c"
