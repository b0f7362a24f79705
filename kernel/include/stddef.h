/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What sched/ includes from a compiler's headers, out of the kernel's own. */
#ifndef KERNEL_INCLUDE_STDDEF_H
#define KERNEL_INCLUDE_STDDEF_H

#include <linux/stddef.h>
#include <linux/types.h>

#endif
