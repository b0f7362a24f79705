/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The scheduler core, compiled into kvmgt from the very files that user space compiles. Must never
 * hold a line of its own.
 */
#include "sched/sched.c"
#include "sched/discipline.c"
