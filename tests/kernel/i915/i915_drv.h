/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The parts of i915 that tests/i915/gvt.h and the scheduling policy use, based on the kernel's own
 * locks, timers and lists. For check-kernel-i915 only.
 */
#ifndef TESTS_KERNEL_I915_I915_DRV_H
#define TESTS_KERNEL_I915_I915_DRV_H

#include <linux/bug.h>
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/wait.h>

#define assert(x) WARN_ON_ONCE(!(x))

/*
 * The parameter "discipline" of kvmgt. gover_gvt has a parameter of the same name and passes its
 * value on.
 */
extern const struct kernel_param_ops *const i915_discipline;
#ifdef TAKE_PARAMETERS
#undef module_param_cb
#define module_param_cb(name, ops, arg, mode) const struct kernel_param_ops *const i915_##name = ops
#undef MODULE_PARM_DESC
#define MODULE_PARM_DESC(name, text) struct kernel_param
#endif

#endif
