/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Replaces the compiler's <stdbool.h>, which kernel/sched/ includes, with headers of the kernel. */
#ifndef KERNEL_INCLUDE_STDBOOL_H
#define KERNEL_INCLUDE_STDBOOL_H

#include <linux/stddef.h>
#include <linux/types.h>

#endif
