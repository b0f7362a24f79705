/* SPDX-License-Identifier: MIT */
/*
 * A temporary folder with the tree of a device with SR-IOV. pwrite() replaces the whole content of
 * a file, as a kernel attribute does.
 */
#ifndef TESTS_UNIT_GPU_XE_TEST_XE_H
#define TESTS_UNIT_GPU_XE_TEST_XE_H

#include "tests/unit/gpu/test-gvt.h"
#include "tests/unit/unit.h"

#include <sys/syscall.h>
#include <unistd.h>

#define PF  "0000:03:00.0"
#define DEV "bus/pci/drivers/xe/" PF
#define ADM DEV "/sriov_admin"
#define VF1 "0000_03_00.1"
#define VF2 "0000_03_00.2"
#define VF3 "0000_03_00.3"

ssize_t pwrite(int fd, const void *buffer, size_t size, off_t offset)
{
	if (offset == 0 && ftruncate(fd, 0) < 0)
		return -1;
	return syscall(SYS_pwrite64, fd, buffer, size, offset);
}

static inline void make_profile(const char *function, const char *priorities)
{
	make_dir(ADM "/%s/profile", function);
	write_file("0\n", ADM "/%s/profile/exec_quantum_ms", function);
	write_file("0\n", ADM "/%s/profile/preempt_timeout_us", function);
	write_file(priorities, ADM "/%s/profile/sched_priority", function);
}

/* Links the virtual function to its PCI device, which the driver does when it is enabled. */
static inline void enable(int vf)
{
	char to[128], from[128];

	snprintf(to, sizeof(to), "../../../0000:03:00.%d", vf);
	snprintf(from, sizeof(from), "%s/" ADM "/vf%d/device", root, vf);
	assert_int_equal(symlink(to, from), 0);
}

static inline void disable(int vf)
{
	remove_file(ADM "/vf%d/device", vf);
}

/* Creates a physical function with @totalvfs virtual functions, of which @numvfs are enabled. */
static inline void make_device(int totalvfs, int numvfs)
{
	char name[16];

	make_dir(ADM "/.bulk_profile");
	write_file("", ADM "/.bulk_profile/sched_priority");
	make_profile("pf", "[low] normal high\n");
	for (int vf = 1; vf <= totalvfs; vf++) {
		snprintf(name, sizeof(name), "vf%d", vf);
		make_profile(name, "[low] normal\n");
		if (vf <= numvfs)
			enable(vf);
	}
}

static inline void expect_quanta(const char *pf, const char *vf1, const char *vf2, const char *vf3)
{
	expect_file(pf, ADM "/pf/profile/exec_quantum_ms");
	expect_file(vf1, ADM "/vf1/profile/exec_quantum_ms");
	expect_file(vf2, ADM "/vf2/profile/exec_quantum_ms");
	expect_file(vf3, ADM "/vf3/profile/exec_quantum_ms");
}

static inline struct gpu_vgpu *attach_one(const struct gpu_ops *ops, const char *id)
{
	struct gpu_vgpu *vgpu;

	if (ops->attach(gpu, id, 0, &vgpu, &err) < 0)
		fail_msg("%s", err.msg);
	return vgpu;
}

#endif
