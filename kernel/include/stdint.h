/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Replaces the compiler's <stdint.h>, which kernel/sched/ includes, with headers of the kernel. */
#ifndef KERNEL_INCLUDE_STDINT_H
#define KERNEL_INCLUDE_STDINT_H

#include <linux/limits.h>
#include <linux/types.h>

#define UINT32_MAX U32_MAX
#define UINT64_MAX U64_MAX

#endif
