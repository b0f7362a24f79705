/* SPDX-License-Identifier: MIT */
/*
 * The checks of Intel GPUs with SR-IOV, in the order in which an administrator sets up a host:
 * driver, max_vfs, kernel version, sriov_numvfs, permissions, quanta, preemption timeout, PMU.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "gpu/diagnose.h"
#include "gpu/gpu.h"
#include "gpu/xe/layout.h"
#include "gpu/xe/xe.h"

#define DRIVER	   "/sys/bus/pci/drivers/xe"
#define DEVICES	   "/sys/bus/pci/devices"
#define PMUS	   "/sys/bus/event_source/devices"
#define PLACES_MAX 16
#define TEXT_MAX   128

#define HOST_SHARE_PCT 5 /* a larger share of the physical function is worth a warning */

/* Bits of CapEff that permit counting all programs, capability.h and perf_event_open(2). */
#define CAPABILITIES (1ULL << 21 | 1ULL << 38) /* CAP_SYS_ADMIN, CAP_PERFMON */

/* Reads a small file below the root. @text is "" if it cannot be read. */
static int read_text(const struct gpu_host *host, const char *name, char text[TEXT_MAX])
{
	char path[PATH_MAX];
	int r;

	diagnose_path(host, name, path);
	r = file_read_text(path, text, TEXT_MAX);
	if (r < 0)
		text[0] = '\0';
	return r;
}

/* Returns a number in a file of a PCI device, or -1. */
static int device_number(const struct gpu_host *host, const char *pci, const char *file)
{
	char name[PATH_MAX], text[TEXT_MAX];
	int64_t number;

	snprintf(name, sizeof(name), DEVICES "/%.64s/%s", pci, file);
	if (read_text(host, name, text) < 0 || parse_int(text, 0, 65535, &number) < 0)
		return -1;
	return (int)number;
}

/* Writes the address of the first device of the driver xe that is no virtual function. */
static void take_device(void *userdata, const char *path)
{
	const char *pci = strrchr(path, '/') + 1;
	char physfn[PATH_MAX + 8];

	snprintf(physfn, sizeof(physfn), "%s/physfn", path);
	if (((char *)userdata)[0] == '\0' && strlen(pci) < XE_PCI_MAX && access(physfn, F_OK) < 0)
		strcpy(userdata, pci);
}

static int find_places(const struct gpu_host *host, struct xe_place *places)
{
	char path[PATH_MAX];

	diagnose_path(host, "/sys", path);
	return xe_place_all(path, places, PLACES_MAX);
}

/* The driver is loaded, but no settings were found. */
static void explain_no_settings(const struct gpu_host *host, enum finding_state missing,
				const char *pci, struct finding *finding)
{
	char text[256], release[TEXT_MAX];
	int total = device_number(host, pci, "sriov_totalvfs");

	(void)read_text(host, "/proc/sys/kernel/osrelease", release);
	if (total <= 0) {
		snprintf(text, sizeof(text),
			 "GPU %s: its driver xe offers no virtual functions (sriov_totalvfs)", pci);
		finding_advise(finding, missing, text,
			       "boot with xe.max_vfs=7, or without a reboot: cd " DRIVER
			       " && echo %s >unbind && mkdir /sys/kernel/config/xe/%s && echo 7 "
			       ">/sys/kernel/config/xe/%s/sriov/max_vfs && echo %s >bind; "
			       "SR-IOV must be enabled in the firmware of the host",
			       pci, pci, pci, pci);
		return;
	}
	snprintf(text, sizeof(text),
		 "GPU %s has %d virtual functions, but Linux %s has no sriov_admin for their time "
		 "slices (6.19 or later)",
		 pci, total, release[0] ? release : "of this host");
	finding_advise(finding, missing, text,
		       "update the kernel; older kernels have the settings only in "
		       "/sys/kernel/debug/dri/%s, which root can read",
		       pci);
}

/*
 * Finds the first enabled function whose time slice cannot be written. Returns false if there is
 * none.
 */
static bool find_refused(const struct xe_place *place, int n_vfs, int *ret_vf, int *ret_errno)
{
	for (int vf = 0; vf <= n_vfs; vf++) {
		int r = xe_files_access(place, vf, "exec_quantum_ms");

		if (r < 0) {
			*ret_vf = vf;
			*ret_errno = -r;
			return true;
		}
	}
	return false;
}

/* Returns the first enabled virtual function where the value of this setting is 0, or 0. */
static int find_unlimited(const struct xe_place *place, int n_vfs, const char *setting)
{
	for (int vf = 1; vf <= n_vfs; vf++) {
		struct xe_files files = {.n = 0};
		uint32_t value = 1;
		int r = xe_files_open(place, vf, setting, &files);

		if (r == 0)
			r = xe_files_read(&files, &value);
		xe_files_close(&files);
		if (r == 0 && value == 0)
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

/* Finds a file that cannot be written. Returns true if there is one. */
static bool check_permissions(const struct xe_place *place, int n_vfs, enum finding_state missing,
			      struct finding *finding)
{
	static const char *const advice =
		"run gover-ctl as root; to give gover-d.service access: udevadm trigger "
		"--action=change --attr-match=sriov_numvfs";
	struct xe_files files = {.n = 0};
	int error, vf, r;

	if (find_refused(place, n_vfs, &vf, &error)) {
		finding_set(finding, missing, advice,
			    "GPU %s: exec_quantum_ms of function %d cannot be written: %s",
			    place->pci, vf, strerror(error));
		return true;
	}
	r = xe_files_open_sharing(place, &files);
	xe_files_close(&files);
	if (r == 0)
		return false;
	finding_set(finding, missing, advice, "GPU %s: %s cannot be written: %s", place->pci,
		    place->layout->sharing, strerror(-r));
	return true;
}

/* Returns the key of the section of this GPU, or the default. */
static int longest_round_ms(const struct gpu_host *host, const char *pci)
{
	for (int i = 0; i < host->n_gpus; i++) {
		const struct gpu_config *gpu = host->gpus[i];

		if ((strcmp(gpu->backend, "xe") == 0 || strcmp(gpu->backend, "auto") == 0) &&
		    (!gpu->parent[0] || strcmp(gpu->parent, pci) == 0))
			return gpu->longest_round_ms;
	}
	return XE_LONGEST_ROUND_MS;
}

/* Returns true if each enabled virtual function has this quantum: it is the default of the driver.
 */
static bool is_default(const struct xe_place *place, int n_vfs, uint32_t quantum_ms)
{
	for (int vf = 1; vf <= n_vfs; vf++) {
		struct xe_files files = {.n = 0};
		uint32_t is_ms = 0;
		int r = xe_files_open(place, vf, "exec_quantum_ms", &files);

		if (r == 0)
			r = xe_files_read(&files, &is_ms);
		xe_files_close(&files);
		if (r < 0 || is_ms != quantum_ms)
			return false;
	}
	return true;
}

/* Finds a physical function that needs much of each round. Returns true if it does. */
static bool check_own_quantum(const struct gpu_host *host, const struct xe_place *place, int n_vfs,
			      struct finding *finding)
{
	struct xe_files files = {.n = 0};
	int longest_ms = longest_round_ms(host, place->pci);
	uint32_t own_ms = 0;
	char text[256];
	int r = xe_files_open(place, 0, "exec_quantum_ms", &files);

	if (r == 0)
		r = xe_files_read(&files, &own_ms);
	xe_files_close(&files);
	if (r < 0 || host->steered || 100ULL * own_ms <= HOST_SHARE_PCT * (uint64_t)longest_ms ||
	    is_default(place, n_vfs, own_ms))
		return false;
	snprintf(text, sizeof(text),
		 "GPU %s: the host keeps its own time slice of %u ms in each round of at most %d "
		 "ms: vGPUs do not reach caps that need this time",
		 place->pci, own_ms, longest_ms);
	finding_advise(finding, FINDING_WARN, text,
		       "before gover-d starts: echo 1 >%s/pf/profile/exec_quantum_ms, or raise "
		       "longest_round_ms",
		       place->base);
	return true;
}

/* Finds a function that can keep the GPU. Returns true if there is one. */
static bool check_limits(const struct xe_place *place, int n_vfs, struct finding *finding)
{
	static const struct {
		const char *setting, *consequence, *advice;
	} limits[] = {
		{"exec_quantum_ms", "it keeps the GPU until it has no work",
		 "gover-d sets a time slice with the first cap of a vGPU"},
		{"preempt_timeout_us", "one program can keep the GPU",
		 "gover-d sets a timeout with the first cap of a vGPU"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		int vf = find_unlimited(place, n_vfs, limits[i].setting);

		if (vf == 0)
			continue;
		finding_set(finding, FINDING_WARN, limits[i].advice,
			    "GPU %s: virtual function %d has no limit in %s: %s", place->pci, vf,
			    limits[i].setting, limits[i].consequence);
		return true;
	}
	return false;
}

/* Reports the first problem of a GPU. Returns true if there is one. */
static bool check_place(const struct gpu_host *host, const struct xe_place *place,
			enum finding_state missing, struct finding *finding)
{
	int n_vfs = count_enabled(place);
	int total = device_number(host, place->pci, "sriov_totalvfs");
	char text[256];

	if (n_vfs == 0) {
		snprintf(text, sizeof(text), "GPU %s: no virtual function is enabled, of %d",
			 place->pci, total < 0 ? 0 : total);
		finding_advise(finding, missing, text, "echo 3 >" DEVICES "/%s/sriov_numvfs",
			       place->pci);
		return true;
	}
	return check_permissions(place, n_vfs, missing, finding) ||
	       check_own_quantum(host, place, n_vfs, finding) ||
	       check_limits(place, n_vfs, finding);
}

static void check_sriov(const struct gpu_host *host, struct finding *finding)
{
	enum finding_state missing = diagnose_missing(host, "xe");
	CLEANUP_FREE struct xe_place *places = xcalloc(PLACES_MAX, sizeof(*places));
	int n = find_places(host, places);
	char pci[XE_PCI_MAX] = "";

	if (n == 0)
		diagnose_each(host, DRIVER "/*:*", take_device, pci);
	if (pci[0]) {
		explain_no_settings(host, missing, pci, finding);
		return;
	}
	if (n == 0 && missing == FINDING_FAIL)
		finding_set(finding, FINDING_FAIL, "modprobe xe",
			    "no GPU has the driver xe, or i915 with SR-IOV");
	else if (n == 0)
		finding->state = FINDING_SKIPPED;
	for (int i = 0; i < n; i++)
		if (check_place(host, &places[i], missing, finding))
			return;
	if (n > 0)
		finding_set(finding, FINDING_OK, "",
			    "%d GPU%s with SR-IOV; GPU %s has %d vGPUs, whose time slices can be "
			    "written (%s of driver %s)",
			    n, n == 1 ? "" : "s", places[0].pci, count_enabled(&places[0]),
			    places[0].layout->name, places[0].layout->driver);
}

/* --- busy time --- */

/* Explains a PMU that is missing or too old. Returns true if it did. */
static bool explain_no_pmu(const struct gpu_host *host, const struct xe_place *place,
			   enum finding_state missing, struct finding *finding)
{
	char id[ID_MAX], name[PATH_MAX], path[PATH_MAX];

	if (!place->layout->has_busy) {
		finding_set(finding, missing, "use the driver xe if it supports this GPU",
			    "GPU %s: driver %s does not count the busy time of virtual functions: "
			    "caps can be written, but no use is known",
			    place->pci, place->layout->driver);
		return true;
	}
	xe_place_id(place->pci, id);
	snprintf(name, sizeof(name), PMUS "/xe_%s/format/function", id);
	diagnose_path(host, name, path);
	if (access(path, F_OK) == 0)
		return false;
	*strrchr(path, '/') = '\0';
	if (access(path, F_OK) < 0)
		finding_set(finding, missing, "update the kernel to 6.16 or later",
			    "GPU %s has no performance counters (%s/xe_%s)", place->pci, PMUS, id);
	else
		finding_set(finding, missing, "update the kernel to 6.16 or later",
			    "GPU %s: its performance counters cannot count one function",
			    place->pci);
	return true;
}

/* Returns true if the running daemon is known not to have one of these capabilities. */
static bool daemon_may_not_count(const struct gpu_host *host)
{
	unsigned long long effective;

	return diagnose_uses(host, "xe") && diagnose_capabilities(host, &effective) &&
	       !(effective & CAPABILITIES);
}

/* The counters exist. Says which programs may read them. */
static void judge_counting(const struct gpu_host *host, const struct xe_place *place,
			   enum finding_state missing, struct finding *finding)
{
	static const char *const advice =
		"install the drop-in xe.conf, which gives gover-d.service CAP_PERFMON";
	char paranoid[TEXT_MAX];
	int64_t level = 2;

	(void)read_text(host, "/proc/sys/kernel/perf_event_paranoid", paranoid);
	if (parse_int(paranoid, -1, 100, &level) < 0)
		level = 2;
	if (level <= 0)
		finding_set(finding, FINDING_OK, "",
			    "GPU %s counts the busy time of its functions for all programs "
			    "(kernel.perf_event_paranoid = %lld)",
			    place->pci, (long long)level);
	else if (daemon_may_not_count(host))
		finding_set(finding, missing, advice,
			    "GPU %s: gover-d may not read the busy time of its functions: it has "
			    "no CAP_PERFMON (kernel.perf_event_paranoid = %lld)",
			    place->pci, (long long)level);
	else
		finding_set(finding, FINDING_OK, diagnose_uses(host, "xe") ? "" : advice,
			    "GPU %s counts the busy time of its functions for programs with "
			    "CAP_PERFMON (kernel.perf_event_paranoid = %lld)",
			    place->pci, (long long)level);
}

/* A tree of gover-sim has files instead of a PMU. */
static bool has_counter_files(const struct xe_place *place)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/pf/counters", place->base);
	return access(path, F_OK) == 0;
}

static void check_pmu(const struct gpu_host *host, struct finding *finding)
{
	enum finding_state missing = diagnose_missing(host, "xe");
	CLEANUP_FREE struct xe_place *places = xcalloc(PLACES_MAX, sizeof(*places));
	int n = find_places(host, places);

	if (n == 0)
		finding->state = FINDING_SKIPPED;
	for (int i = 0; i < n; i++)
		if (!has_counter_files(&places[i]) &&
		    explain_no_pmu(host, &places[i], missing, finding))
			return;
	if (n > 0 && has_counter_files(&places[0]))
		finding_set(finding, FINDING_OK, "",
			    "GPU %s is simulated: gover-sim counts the busy time of its functions",
			    places[0].pci);
	else if (n > 0)
		judge_counting(host, &places[0], missing, finding);
}

const struct gpu_check gpu_xe_checks[] = {
	{"sriov", check_sriov}, {"xe-pmu", check_pmu}, {NULL, NULL}};
