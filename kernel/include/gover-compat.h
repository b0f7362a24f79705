/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Functions of newer kernels, for older ones. All checks of the kernel's version are here, so that
 * the modules contain one code for all kernels.
 */
#ifndef KERNEL_INCLUDE_GOVER_COMPAT_H
#define KERNEL_INCLUDE_GOVER_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

#if KERNEL_VERSION(6, 13, 0) > LINUX_VERSION_CODE
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/*
 * struct intel_vgpu of i915 has the member active in 6.1, and a bitmap in 6.12 and newer. The
 * simulated i915 of the tests has a macro of its own.
 */
#ifndef intel_vgpu_is_active
#if KERNEL_VERSION(6, 2, 0) > LINUX_VERSION_CODE
#define intel_vgpu_is_active(vgpu) ((vgpu)->active)
#else
#define intel_vgpu_is_active(vgpu) test_bit(INTEL_VGPU_STATUS_ACTIVE, (vgpu)->status)
#endif
#endif

#endif
