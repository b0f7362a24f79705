/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the files of GPU schedulers: the input is the content of GVT-g's files and of control
 * groups, as the kernel, a FUSE host or a container shows them. A reading must be within its range,
 * and rates that the monitor computes from readings must be possible.
 *
 * The input consists of texts that are separated by the byte 1: the initial cap, mountinfo, the
 * groups of a process, a list of cores, and then for each period the busy time, the allotted time
 * and the cap. The control groups get the same three texts.
 */
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/linux/cgroup.h"
#include "gpu/gpu.h"
#include "gpu/softgpu/softgpu.c"
#include "monitor/monitor.h"
#include "tests/fuzz/fuzz.h"

#define UUID	    "11111111-0000-4000-8000-000000000001"
#define VGPU	    "bus/mdev/devices/" UUID "/intel_vgpu/"
#define PERIODS_MAX 16

enum file {
	VGPU_ID,
	BUSY_TIME,
	SCHED_TIME,
	CAP,
	INITIAL_CAP,
	LEASE,
	MOUNTINFO,
	V1_USAGE,
	V1_QUOTA,
	V1_PERIOD,
	V1_BURST,
	V1_WEIGHT,
	V2_USAGE,
	V2_LIMIT,
	V2_BURST,
	V2_WEIGHT,
	CORES,
	MINE,
	THEIRS,
	PROCS,
	FILES
};

/* A folder in memory with all files. The files stay open, and each input changes their content. */
static struct tree {
	char root[64];
	int fds[FILES];
} tree;

static const char *const names[FILES] = {
	[VGPU_ID] = VGPU "vgpu_id",
	[BUSY_TIME] = VGPU "busy_time",
	[SCHED_TIME] = VGPU "sched_time",
	[CAP] = VGPU "cap",
	[INITIAL_CAP] = VGPU "initial_cap",
	[LEASE] = VGPU "cap_lease_ms",
	[MOUNTINFO] = "mountinfo",
	[V1_USAGE] = "cg/gover/a/cpuacct.usage",
	[V1_QUOTA] = "cg/gover/a/cpu.cfs_quota_us",
	[V1_PERIOD] = "cg/gover/a/cpu.cfs_period_us",
	[V1_BURST] = "cg/gover/a/cpu.cfs_burst_us",
	[V1_WEIGHT] = "cg/gover/a/cpu.shares",
	[V2_USAGE] = "cg/gover/a/cpu.stat",
	[V2_LIMIT] = "cg/gover/a/cpu.max",
	[V2_BURST] = "cg/gover/a/cpu.max.burst",
	[V2_WEIGHT] = "cg/gover/a/cpu.weight",
	[CORES] = "cg/gover/cpuset.cpus.effective",
	[MINE] = "cg/gover/a/cpuset.cpus",
	[THEIRS] = "cg/gover/b/cpuset.cpus",
	[PROCS] = "cg/gover/a/cgroup.procs",
};

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *at)
{
	(void)stat, (void)type, (void)at;
	(void)remove(path);
	return 0;
}

static void remove_tree(void)
{
	(void)nftw(tree.root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void set_file(enum file file, const char *text, size_t length)
{
	FUZZ_CHECK(pwrite(tree.fds[file], text, length, 0) == (ssize_t)length);
	FUZZ_CHECK(ftruncate(tree.fds[file], (off_t)length) == 0);
}

/* Makes the tree in memory, if the host has a file system in memory. */
static void make_tree(void)
{
	if (tree.root[0])
		return;
	snprintf(tree.root, sizeof(tree.root), "%s/gover-fuzz.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	FUZZ_CHECK(mkdtemp(tree.root) && atexit(remove_tree) == 0);
	for (int i = 0; i < FILES; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", tree.root, names[i]);
		FUZZ_CHECK(file_make_parents(path) == 0);
		tree.fds[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		FUZZ_CHECK(tree.fds[i] >= 0);
	}
}

/* --- the texts of the input --- */

struct texts {
	const char *next;
	size_t size;
};

static const char *take_text(struct texts *in, size_t *ret_length)
{
	const char *text = in->next, *end = in->size ? memchr(text, 1, in->size) : NULL;
	size_t n = end ? (size_t)(end - text) : in->size;

	in->next += end ? n + 1 : n;
	in->size -= end ? n + 1 : n;
	*ret_length = n;
	return text;
}

static void fill(enum file file, struct texts *in)
{
	size_t length;
	const char *text = take_text(in, &length);

	set_file(file, text, length);
}

/* --- GVT-g --- */

static void count_vgpu(void *userdata, const char *id, int initial_cap_pct)
{
	FUZZ_CHECK(strcmp(id, UUID) == 0 && initial_cap_pct >= 0 && initial_cap_pct <= 100);
	(*(int *)userdata)++;
}

static void check_sample(const struct monitor_row *row, double dt_s)
{
	if (!row->sample.busy_valid)
		return;
	FUZZ_CHECK(isfinite(row->sample.load) && row->sample.load >= 0 &&
		   row->sample.load <= 1.5 + 0.2 / dt_s);
	FUZZ_CHECK(isfinite(row->sample.util) && row->sample.util >= 0);
}

static void sample(struct gpu_vgpu *vgpu, struct monitor_track *track, uint64_t now_ns)
{
	struct gpu_reading reading = {0};
	struct monitor_row row;
	int cap_pct = -1, r = gpu_gvt_ops.read(vgpu, now_ns, &reading);

	FUZZ_CHECK(r < 0 || !reading.cap_valid || (reading.cap_pct >= 0 && reading.cap_pct <= 100));
	monitor_sample(track, r, &reading, NULL, 1, 1, &row);
	check_sample(&row, 1);
	if (gpu_gvt_ops.read_cap(vgpu, &cap_pct) == 0)
		FUZZ_CHECK(cap_pct >= 0 && cap_pct <= 100);
}

static struct gpu *open_gvt(void)
{
	static struct gpu *gpu; /* the host has the same GPU for all inputs */
	struct gpu_config config = {.name = "gpu0", .speed = 1};

	if (gpu)
		return gpu;
	snprintf(config.root, sizeof(config.root), "%s", tree.root);
	FUZZ_CHECK(gpu_gvt_ops.open(&config, &gpu, NULL) == 0);
	return gpu;
}

/* --- control groups --- */

static struct cgroup_host group_host(const struct cgroup_version *version)
{
	struct cgroup_host host = {.version = version, .n_mounts = 1};

	snprintf(host.mounts[0].path, sizeof(host.mounts[0].path), "%s/cg", tree.root);
	strcpy(host.mounts[0].root, "/");
	return host;
}

static void read_cap(const struct cgroup_files *files)
{
	for (int guarantees = 0; guarantees < 2; guarantees++) {
		struct softgpu_scale scale = {.gpu_cores = 1.5, .guarantees = guarantees};
		int cap_pct, ceiling_pct;
		double share;

		if (cap_read(files, &scale, 0, &share, &cap_pct) == 0) {
			FUZZ_CHECK(cap_pct >= 0 && cap_pct <= 100);
			FUZZ_CHECK(share >= 0 && share <= 1);
		}
		if (cap_read_ceiling(files, &scale, &ceiling_pct) == 0)
			FUZZ_CHECK(ceiling_pct >= 1 && ceiling_pct <= 100);
	}
}

static void read_group(const struct cgroup_version *version)
{
	struct cgroup_host host = group_host(version);
	struct cgroup_limit limit;
	struct cgroup_files files;
	uint64_t usage_ns;

	FUZZ_CHECK(cgroup_open(&host, "gover/a", &files) == 0);
	(void)version->read_usage(&files, &usage_ns);
	if (version->read_limit(&files, &limit) == 0) {
		FUZZ_CHECK(limit.quota_us >= 0 && limit.period_us > 0);
		FUZZ_CHECK(cgroup_limit_cores(&limit) >= 0);
		FUZZ_CHECK(isfinite(cgroup_limit_cores(&limit)));
	}
	read_cap(&files);
	cgroup_close(&files);
}

static void read_groups(void)
{
	read_group(&cgroup_v1);
	read_group(&cgroup_v2);
}

/* Everything that is read once: mounts, members and cores. */
static void read_hosts(struct texts *in)
{
	struct cgroup_host host = group_host(&cgroup_v2), found;
	char path[PATH_MAX], group[PATH_MAX];
	CLEANUP_FREE char *text = NULL;
	size_t length;
	const char *members;

	fill(MOUNTINFO, in);
	snprintf(path, sizeof(path), "%s/%s", tree.root, names[MOUNTINFO]);
	if (cgroup_find(path, &found, NULL) == 0)
		FUZZ_CHECK(found.n_mounts >= 1 && found.usage < found.n_mounts &&
			   found.cpuset < found.n_mounts);
	members = take_text(in, &length);
	text = fuzz_text(members, length);
	if (cgroup_parse_member(&host, text, group) == 0)
		FUZZ_CHECK(strlen(group) < PATH_MAX);
	members = take_text(in, &length);
	set_file(CORES, members, length);
	set_file(THEIRS, members, length / 2);
	set_file(PROCS, members, length);
	FUZZ_CHECK(cgroup_count(&host, "gover/a") >= 0);
	(void)cgroup_pin(&host, "gover/a", 1);
}

FUZZ(sysfs)
{
	struct texts in = {(const char *)data, size};
	struct monitor_track track = {.primed = false};
	uint64_t now_ns = 1000 * NS_PER_S;
	struct gpu_vgpu *vgpu;
	int n = 0, cap_pct;

	make_tree();
	fill(INITIAL_CAP, &in);
	read_hosts(&in);
	FUZZ_CHECK(gpu_gvt_ops.list(open_gvt(), count_vgpu, &n) == 0 && n == 1);
	FUZZ_CHECK(gpu_gvt_ops.attach(open_gvt(), UUID, now_ns, &vgpu, NULL) == 0);
	if (gpu_gvt_ops.lease.read_initial_cap(vgpu, &cap_pct) == 0)
		FUZZ_CHECK(cap_pct >= 0 && cap_pct <= 100);
	for (int i = 0; in.size > 0 && i < PERIODS_MAX; i++) {
		static const enum file files[][4] = {{BUSY_TIME, V1_USAGE, V2_USAGE, V2_WEIGHT},
						     {SCHED_TIME, V1_QUOTA, V2_LIMIT, V1_WEIGHT},
						     {CAP, V1_PERIOD, V2_BURST, V2_WEIGHT}};

		for (size_t f = 0; f < ARRAY_SIZE(files); f++) {
			size_t length;
			const char *text = take_text(&in, &length);

			for (size_t j = 0; j < ARRAY_SIZE(files[f]); j++)
				set_file(files[f][j], text, length);
		}
		sample(vgpu, &track, now_ns += NS_PER_S);
		read_groups();
	}
	gpu_gvt_ops.detach(vgpu);
	return 0;
}
