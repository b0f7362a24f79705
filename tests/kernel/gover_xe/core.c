/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The scheduler of quanta, compiled into the module from the same files as in user space. */
#include "kernel/sched/quanta.c"
#include "kernel/sched/quanta-gpu.c"
