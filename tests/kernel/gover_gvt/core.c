/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The scheduler core, compiled into the module from the same files as in user space. */
#include "kernel/sched/sched.c"
#include "kernel/sched/discipline.c"
