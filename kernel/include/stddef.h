/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Replaces the compiler's <stddef.h>, which kernel/sched/ includes, with headers of the kernel. */
#ifndef KERNEL_INCLUDE_STDDEF_H
#define KERNEL_INCLUDE_STDDEF_H

#include <linux/stddef.h>
#include <linux/types.h>

#endif
