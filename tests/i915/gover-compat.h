/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Replaces kernel/include/gover-compat.h in user space, where i915_drv.h has the functions of the
 * newest kernel.
 */
#ifndef TESTS_I915_GOVER_COMPAT_H
#define TESTS_I915_GOVER_COMPAT_H

#include "i915_drv.h"

#endif
