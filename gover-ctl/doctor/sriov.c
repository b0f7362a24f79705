/* SPDX-License-Identifier: MIT */
/*
 * The checks of Intel GPUs with SR-IOV, in the order in which an administrator sets up a host:
 * driver, max_vfs, kernel version, sriov_numvfs, permissions, preemption timeout, PMU.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "gover-ctl/doctor/sriov.h"
#include "gpu/xe/layout.h"

#define DRIVER	   "/sys/bus/pci/drivers/xe"
#define DEVICES	   "/sys/bus/pci/devices"
#define PMUS	   "/sys/bus/event_source/devices"
#define PLACES_MAX 16
#define TEXT_MAX   64

/* Reads a small file below the root. @text is "" if it cannot be read. */
static int read_text(const struct doctor_input *input, const char *name, char text[TEXT_MAX])
{
	char path[PATH_MAX], *whole = NULL;
	int r;

	doctor_under_root(input, name, path);
	r = file_read(path, 4096, &whole, NULL);
	snprintf(text, TEXT_MAX, "%s", r == 0 ? whole : "");
	free(whole);
	text[strcspn(text, "\n")] = '\0';
	return r;
}

/* Returns a number in a file of a PCI device, or -1. */
static int device_number(const struct doctor_input *input, const char *pci, const char *file)
{
	char name[PATH_MAX], text[TEXT_MAX];
	int64_t number;

	snprintf(name, sizeof(name), DEVICES "/%.64s/%s", pci, file);
	if (read_text(input, name, text) < 0 || parse_int(text, 0, 65535, &number) < 0)
		return -1;
	return (int)number;
}

/* Writes the address of the first device of the driver xe that is no virtual function. */
static bool find_device(const struct doctor_input *input, char ret_pci[XE_PCI_MAX])
{
	char path[PATH_MAX], physfn[PATH_MAX];
	const struct dirent *entry;
	bool found = false;
	DIR *dir;

	doctor_under_root(input, DRIVER, path);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		if (strlen(entry->d_name) >= XE_PCI_MAX || !strchr(entry->d_name, ':'))
			continue;
		snprintf(physfn, sizeof(physfn), "%.*s/%s/physfn", PATH_MAX - 300, path,
			 entry->d_name);
		found = access(physfn, F_OK) < 0;
		snprintf(ret_pci, XE_PCI_MAX, "%s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static int find_places(const struct doctor_input *input, struct xe_place *places)
{
	char path[PATH_MAX];

	doctor_under_root(input, "/sys", path);
	return xe_place_all(path, places, PLACES_MAX);
}

/* The driver is loaded, but no settings were found. */
static void explain_no_settings(const struct doctor_input *input, enum doctor_state missing,
				const char *pci, struct doctor_finding *finding)
{
	char text[256], release[TEXT_MAX];
	int total = device_number(input, pci, "sriov_totalvfs");

	(void)read_text(input, "/proc/sys/kernel/osrelease", release);
	if (total <= 0) {
		snprintf(text, sizeof(text),
			 "GPU %s: its driver xe offers no virtual functions (sriov_totalvfs)", pci);
		doctor_advise(finding, missing, text,
			      "boot with xe.max_vfs=7, or write the number to "
			      "/sys/kernel/config/xe/%s/sriov/max_vfs before the driver is bound; "
			      "SR-IOV must be enabled in the firmware of the host",
			      pci);
		return;
	}
	snprintf(text, sizeof(text),
		 "GPU %s has %d virtual functions, but Linux %s has no sriov_admin for their time "
		 "slices (6.19 or later)",
		 pci, total, release[0] ? release : "of this host");
	doctor_advise(finding, missing, text,
		      "update the kernel; older kernels have the settings only in "
		      "/sys/kernel/debug/dri/%s, which root can read",
		      pci);
}

/* Returns the first enabled function whose time slice cannot be written, or 0. */
static int find_refused(const struct xe_place *place, int n_vfs, int *ret_errno)
{
	for (int vf = 0; vf <= n_vfs; vf++) {
		int r = xe_files_access(place, vf, "exec_quantum_ms");

		if (r < 0) {
			*ret_errno = -r;
			return vf ? vf : -1;
		}
	}
	return 0;
}

/* Returns the first enabled virtual function without a preemption timeout, or 0. */
static int find_endless(const struct xe_place *place, int n_vfs)
{
	for (int vf = 1; vf <= n_vfs; vf++) {
		struct xe_files files = {.n = 0};
		uint32_t us = 1;
		int r = xe_files_open(place, vf, "preempt_timeout_us", &files);

		if (r == 0)
			r = xe_files_read(&files, &us);
		xe_files_close(&files);
		if (r == 0 && us == 0)
			return vf;
	}
	return 0;
}

static int count_enabled(const struct xe_place *place)
{
	ino_t link;
	int vf = 0;

	while (xe_place_link(place, vf + 1, &link) == 0)
		vf++;
	return vf;
}

/* Reports the first problem of a GPU. Returns true if there is one. */
static bool check_place(const struct doctor_input *input, const struct xe_place *place,
			enum doctor_state missing, struct doctor_finding *finding)
{
	int n_vfs = count_enabled(place), error = 0, vf;
	int total = device_number(input, place->pci, "sriov_totalvfs");
	char text[256];

	if (n_vfs == 0) {
		snprintf(text, sizeof(text), "GPU %s: no virtual function is enabled, of %d",
			 place->pci, total < 0 ? 0 : total);
		doctor_advise(finding, missing, text, "echo 3 >" DEVICES "/%s/sriov_numvfs",
			      place->pci);
		return true;
	}
	vf = find_refused(place, n_vfs, &error);
	if (vf != 0) {
		doctor_find(finding, missing,
			    "run gover-ctl as root; to give gover-d.service access: udevadm "
			    "trigger --action=change --attr-match=sriov_numvfs",
			    "GPU %s: exec_quantum_ms of function %d cannot be written: %s",
			    place->pci, vf < 0 ? 0 : vf, strerror(error));
		return true;
	}
	vf = find_endless(place, n_vfs);
	if (vf == 0)
		return false;
	doctor_find(finding, DOCTOR_WARN, "gover-d sets a timeout with the first cap of a vGPU",
		    "GPU %s: virtual function %d has no preempt_timeout_us: one program can keep "
		    "the GPU",
		    place->pci, vf);
	return true;
}

void doctor_sriov_check(const struct doctor_input *input, struct doctor_finding *finding)
{
	enum doctor_state missing = doctor_uses_backend(input, "xe") ? DOCTOR_FAIL : DOCTOR_WARN;
	CLEANUP_FREE struct xe_place *places = calloc(PLACES_MAX, sizeof(*places));
	int n = places ? find_places(input, places) : 0;
	char pci[XE_PCI_MAX];

	if (n == 0 && find_device(input, pci)) {
		explain_no_settings(input, missing, pci, finding);
		return;
	}
	if (n == 0 && missing == DOCTOR_FAIL)
		doctor_find(finding, DOCTOR_FAIL, "modprobe xe",
			    "no GPU has the driver xe, or i915 with SR-IOV");
	else if (n == 0)
		finding->state = DOCTOR_SKIPPED;
	for (int i = 0; i < n; i++)
		if (check_place(input, &places[i], missing, finding))
			return;
	if (n > 0)
		doctor_find(finding, DOCTOR_OK, "",
			    "%d GPU%s with SR-IOV; GPU %s has %d vGPUs, whose time slices can be "
			    "written (%s of driver %s)",
			    n, n == 1 ? "" : "s", places[0].pci, count_enabled(&places[0]),
			    places[0].layout->name, places[0].layout->driver);
}

/* --- busy time --- */

/* Explains a PMU that is missing or too old. Returns true if it did. */
static bool explain_no_pmu(const struct doctor_input *input, const struct xe_place *place,
			   enum doctor_state missing, struct doctor_finding *finding)
{
	char id[ID_MAX], name[PATH_MAX], path[PATH_MAX];

	if (!place->layout->has_busy) {
		doctor_find(finding, missing, "use the driver xe if it supports this GPU",
			    "GPU %s: driver %s does not count the busy time of virtual functions: "
			    "caps can be written, but no use is known",
			    place->pci, place->layout->driver);
		return true;
	}
	xe_place_id(place->pci, id);
	snprintf(name, sizeof(name), PMUS "/xe_%s/format/function", id);
	doctor_under_root(input, name, path);
	if (access(path, F_OK) == 0)
		return false;
	*strrchr(path, '/') = '\0';
	if (access(path, F_OK) < 0)
		doctor_find(finding, missing, "update the kernel to 6.16 or later",
			    "GPU %s has no performance counters (%s/xe_%s)", place->pci, PMUS, id);
	else
		doctor_find(finding, missing, "update the kernel to 6.16 or later",
			    "GPU %s: its performance counters cannot count one function",
			    place->pci);
	return true;
}

void doctor_sriov_pmu_check(const struct doctor_input *input, struct doctor_finding *finding)
{
	enum doctor_state missing = doctor_uses_backend(input, "xe") ? DOCTOR_FAIL : DOCTOR_WARN;
	CLEANUP_FREE struct xe_place *places = calloc(PLACES_MAX, sizeof(*places));
	int n = places ? find_places(input, places) : 0;
	char paranoid[TEXT_MAX];
	int64_t level = 2;

	if (n == 0)
		finding->state = DOCTOR_SKIPPED;
	for (int i = 0; i < n; i++)
		if (explain_no_pmu(input, &places[i], missing, finding))
			return;
	if (n == 0)
		return;
	(void)read_text(input, "/proc/sys/kernel/perf_event_paranoid", paranoid);
	if (parse_int(paranoid, -1, 100, &level) < 0)
		level = 2;
	if (level > 0)
		doctor_find(finding, DOCTOR_OK,
			    "install the drop-in xe.conf, which gives gover-d.service CAP_PERFMON",
			    "GPU %s counts the busy time of its functions for programs with "
			    "CAP_PERFMON (kernel.perf_event_paranoid = %lld)",
			    places[0].pci, (long long)level);
	else
		doctor_find(finding, DOCTOR_OK, "",
			    "GPU %s counts the busy time of its functions for all programs "
			    "(kernel.perf_event_paranoid = %lld)",
			    places[0].pci, (long long)level);
}
