/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What sched/ includes from a compiler's headers, out of the kernel's own. */
#ifndef KERNEL_INCLUDE_STDINT_H
#define KERNEL_INCLUDE_STDINT_H

#include <linux/limits.h>
#include <linux/types.h>

#define UINT64_MAX U64_MAX

#endif
