/* SPDX-License-Identifier: MIT */
/*
 * drm: observes a GPU that programs in control groups share, such as containers on an AMD, Intel or
 * NVIDIA GPU. No driver lets an operator limit a control group today, so this backend only reads: a
 * vGPU is a control group directly below one parent group, such as a container below system.slice,
 * and its busy time is the host's truth about its programs (truth.h). The cap of a vGPU is its
 * equal part of the GPU, a measure and no limit.
 *
 * A group becomes a tenant when one of its programs opens the GPU or a vGPU is attached to it, and
 * remains one until it is removed. Never creates, moves or removes a group.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/gpu/drm-name.h"
#include "base/linux/cgroup.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "gpu/drm/device.h"
#include "gpu/drm/drm.h"
#include "gpu/drm/truth.h"

#define TENANTS_MAX  256
#define NAME_BYTES   256 /* size of the name of a control group with its NUL */
#define ROOT_DEFAULT "system.slice"
#define REFUSED_MAX  16 /* groups that cannot be tenants and are listed */

#define MEMBER_TEXT_MAX (64 * 1024)
#define LONG_ID		32 /* a run of at least so many digits is the id of a container */
#define SHORT_ID	12
#define MACHINE		"machine-"
#define DASH		"\\x2d" /* a '-' in a name, as systemd escapes it */
#define PODS		"kubepods"
/* Larger than the age of a tenant in the sources, so that no process has the number of a slot that
 * another group uses. */
#define GONE_SAMPLES 32

#define SYSFS	      "/sys"
#define DMEM_TEXT_MAX 4096

struct tenant {
	bool used; /* false: the slot is free */
	char id[ID_MAX];
	char name[NAME_BYTES]; /* of the group below the root */
	int n_vgpus;	       /* attached vGPUs, 0 or 1 */
	unsigned gone;	       /* samples since the group was removed; 0: it exists */
	/* counters since the tenant was found */
	uint64_t busy_ns;
	uint64_t sched_ns; /* time that it could have used */
	bool memory_valid;
	uint64_t memory_bytes;
};

/* A group whose programs use the GPU, but which cannot be a tenant. */
struct refused {
	char id[ID_MAX]; /* always with a hash; "": the entry is free */
	char name[NAME_BYTES];
	bool full;    /* no slot is free; false: another group has its id */
	unsigned age; /* samples since one of its programs was seen */
};

struct groups {
	struct cgroup_host host;
	char root[PATH_MAX];
	char proc[GPU_ROOT_MAX];
	struct tenant tenants[TENANTS_MAX];
	struct refused refused[REFUSED_MAX];
};

struct found {
	int n;
	struct device last;
	char names[256];
};

static void note(void *userdata, const struct device *device)
{
	struct found *found = userdata;

	if (device->name[0] == '\0')
		return;
	found->n++;
	found->last = *device;
	text_append(found->names, sizeof(found->names), "%s%s", found->names[0] ? ", " : "",
		    device->name);
}

int drm_device_find(const char *sysfs, const char *parent, char ret_device[GPU_PARENT_MAX],
		    char ret_path[PATH_MAX], struct err *reterr)
{
	struct found found = {.n = 0};
	char path[PATH_MAX];

	if (parent[0]) {
		if (drm_name_parse(parent, ret_device) < 0)
			return err_fail(reterr, EINVAL, "parent = %s: unknown (allowed: %s)",
					parent, DRM_NAME_ALLOWED);
		if (snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", sysfs, ret_device) >=
			    (int)sizeof(path) ||
		    !realpath(path, ret_path))
			ret_path[0] = '\0';
		return 0;
	}
	device_each(sysfs, note, &found);
	if (found.n > 1)
		return err_fail(reterr, EINVAL, "parent: required (this host has %d GPUs: %s)",
				found.n, found.names);
	if (found.n == 0)
		return err_fail(reterr, EOPNOTSUPP,
				"this host has no GPU with a render node (/dev/dri/renderD*)");
	strcpy(ret_device, found.last.name);
	strcpy(ret_path, found.last.path);
	return 0;
}

static int init_groups(const struct gpu_config *config, struct groups *ret_groups,
		       struct err *reterr)
{
	const char *root = config->root[0] ? config->root : ROOT_DEFAULT;
	char mountinfo[GPU_ROOT_MAX + 32];

	if (!cgroup_is_group(root))
		return err_fail(reterr, EINVAL,
				"GPU %s: root \"%s\" is not allowed (allowed: a path of control "
				"groups below the mounts, such as %s)",
				config->name, root, ROOT_DEFAULT);
	strcpy(ret_groups->root, root);
	strcpy(ret_groups->proc, config->proc[0] ? config->proc : "/proc");
	snprintf(mountinfo, sizeof(mountinfo), "%s/self/mountinfo", ret_groups->proc);
	return cgroup_find(mountinfo, &ret_groups->host, reterr);
}

/* --- names --- */

static bool ends_with(const char *name, size_t length, const char *suffix)
{
	size_t n = strlen(suffix);

	return length > n && memcmp(name + length - n, suffix, n) == 0;
}

static bool is_unit(const char *name, size_t length)
{
	return ends_with(name, length, ".service") || ends_with(name, length, ".scope") ||
	       ends_with(name, length, ".slice");
}

/* The names of machines are escaped, so that each '-' in them is \x2d. */
static bool is_machine(const char *name)
{
	return strncmp(name, MACHINE, strlen(MACHINE)) == 0 && !strchr(name + strlen(MACHINE), '-');
}

/* Returns the length of the prefix of a driver of libvirt; 0: @name has none. */
static size_t driver_length(const char *name)
{
	static const char *const begins[] = {MACHINE "qemu" DASH, MACHINE "lxc" DASH};

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0 && is_machine(name))
			return strlen(begins[i]);
	return 0;
}

/* Returns the length of the number of a domain, which is another one after each start; 0: none. */
static size_t number_length(const char *at)
{
	size_t digits = strspn(at, "0123456789");

	if (digits == 0 || strncmp(at + digits, DASH, strlen(DASH)) != 0)
		return 0;
	return digits + strlen(DASH);
}

/* Returns the length of the run of digits at @at if it is the id of a container; 0: it is not. */
static size_t long_id(const char *at)
{
	size_t digits = strspn(at, "0123456789abcdef");

	return digits >= LONG_ID ? digits : 0;
}

static bool is_container(const char *name)
{
	for (; *name; name++)
		if (long_id(name))
			return true;
	return false;
}

/* Returns the length of the part of @name that the id shows. A service, a container, a pod and a
 * machine each have one type of unit, so that their type adds nothing. */
static size_t stem_length(const char *name)
{
	size_t length = strlen(name);

	if (ends_with(name, length, ".service"))
		return length - strlen(".service");
	if (ends_with(name, length, ".scope") && (is_container(name) || is_machine(name)))
		return length - strlen(".scope");
	if (ends_with(name, length, ".slice") &&
	    (is_container(name) || strncmp(name, PODS, strlen(PODS)) == 0))
		return length - strlen(".slice");
	return length;
}

/* Writes the short form of @name. Returns false if other names have the same short form. */
static bool shorten(const char *name, char id[NAME_BYTES])
{
	size_t length = stem_length(name), driver = driver_length(name), n = 0;
	size_t number = driver ? number_length(name + driver) : 0;
	const char *end = name + length;
	bool exact = length == strlen(name) || !is_unit(name, length);

	exact = exact && (!driver || number); /* else a domain may have this id */

	for (const char *at = name; at < end && n + SHORT_ID + 1 < NAME_BYTES;) {
		size_t digits = long_id(at);

		if (number && at == name + driver) {
			at += number;
		} else if (strncmp(at, DASH, strlen(DASH)) == 0) {
			exact = exact && is_machine(name);
			id[n++] = '-';
			at += strlen(DASH);
		} else if (digits) {
			memcpy(id + n, at, SHORT_ID);
			n += SHORT_ID;
			at += digits;
		} else {
			bool valid = isalnum((unsigned char)*at) || strchr("._-", *at);

			exact = exact && valid;
			id[n++] = (char)(valid ? *at : '_');
			at++;
		}
	}
	id[n] = '\0';
	return exact && id_valid(id);
}

/* Writes the first part of @text and a hash of the path of the group. */
static void make_hashed_id(const char *root, const char *name, const char *text,
			   char ret_id[ID_MAX])
{
	char path[PATH_MAX + NAME_BYTES];
	uint64_t hash;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	hash = id_hash(path);
	text += strspn(text, ".-");
	snprintf(ret_id, ID_MAX, "%.*s%s%08x", ID_MAX - 1 - 9, text, *text ? "-" : "",
		 (unsigned int)(hash ^ hash >> 32));
}

void drm_group_id(const char *root, const char *name, char ret_id[ID_MAX])
{
	char text[NAME_BYTES];

	if (shorten(name, text))
		strcpy(ret_id, text);
	else
		make_hashed_id(root, name, text, ret_id);
}

/* --- processes --- */

/* Writes the name of the group below the root to which the process belongs. Returns -ENOENT if it
 * belongs to another group, and -ESRCH if it has ended. */
static int read_member(const struct groups *groups, pid_t pid, char ret_name[NAME_BYTES])
{
	char path[GPU_ROOT_MAX + 32], group[PATH_MAX];
	CLEANUP_FREE char *text = NULL;
	size_t n = strlen(groups->root), length;
	int r;

	snprintf(path, sizeof(path), "%s/%d/cgroup", groups->proc, (int)pid);
	r = file_read(path, MEMBER_TEXT_MAX, &text, NULL);
	if (r == 0)
		r = cgroup_parse_member(&groups->host, text, group);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	/* outside the control group namespace of this process */
	if (strncmp(group, "../", 3) == 0)
		return -EXDEV;
	if (strncmp(group, groups->root, n) != 0 || group[n] != '/')
		return -ENOENT;
	/* The process may be in a group below that of the container. */
	length = strcspn(group + n + 1, "/");
	if (length == 0 || length >= NAME_BYTES)
		return -ENOENT;
	memcpy(ret_name, group + n + 1, length);
	ret_name[length] = '\0';
	return 0;
}

/* --- tenants --- */

static struct tenant *find_name(struct groups *groups, const char *name)
{
	for (int i = 0; i < TENANTS_MAX; i++)
		if (groups->tenants[i].used && strcmp(groups->tenants[i].name, name) == 0)
			return &groups->tenants[i];
	return NULL;
}

static struct tenant *find_id(struct groups *groups, const char *id)
{
	for (int i = 0; i < TENANTS_MAX; i++)
		if (groups->tenants[i].used && strcmp(groups->tenants[i].id, id) == 0)
			return &groups->tenants[i];
	return NULL;
}

/* Returns NULL if no slot is free or another group has this id. */
static struct tenant *add(struct groups *groups, const char *id, const char *name)
{
	if (find_id(groups, id))
		return NULL;
	for (int i = 0; i < TENANTS_MAX; i++) {
		struct tenant *tenant = &groups->tenants[i];

		if (tenant->used)
			continue;
		*tenant = (struct tenant){.used = true};
		strcpy(tenant->id, id);
		strcpy(tenant->name, name);
		return tenant;
	}
	return NULL;
}

static struct refused *find_refused(struct groups *groups, const char *name)
{
	struct refused *oldest = groups->refused;

	for (int i = 0; i < REFUSED_MAX; i++) {
		struct refused *refused = &groups->refused[i];

		if (strcmp(refused->name, name) == 0)
			return refused;
		if (refused->age > oldest->age || (!refused->id[0] && oldest->id[0]))
			oldest = refused;
	}
	return oldest;
}

/*
 * Returns the tenant with that id if its group was removed, and lets it continue with the group
 * @name: a domain that was started again. NULL: there is no such tenant.
 */
static struct tenant *follow(struct groups *groups, const char *id, const char *name)
{
	struct tenant *tenant = find_id(groups, id);

	if (!tenant || !tenant->gone)
		return NULL;
	strcpy(tenant->name, name);
	if (tenant->n_vgpus == 0) /* else its vGPU ends first, as in expire_groups() */
		tenant->gone = 0;
	return tenant;
}

static void refuse(struct groups *groups, const char *id, const char *name)
{
	struct refused *refused = find_refused(groups, name);

	*refused = (struct refused){.full = !find_id(groups, id)};
	make_hashed_id(groups->root, name, id, refused->id);
	strcpy(refused->name, name);
}

static const struct refused *find_refusal(const struct groups *groups, const char *id)
{
	for (int i = 0; i < REFUSED_MAX; i++)
		if (strcmp(groups->refused[i].id, id) == 0)
			return &groups->refused[i];
	return NULL;
}

/*
 * Returns the index of the tenant of process @pid, which is added if it is new. Returns -ENOENT if
 * the process is outside the root, or its group was refused, and another error if its group cannot
 * be read.
 */
static int find_tenant(struct groups *groups, pid_t pid)
{
	char name[NAME_BYTES], id[ID_MAX];
	struct tenant *tenant;
	int r = read_member(groups, pid, name);

	if (r < 0)
		return r;
	tenant = find_name(groups, name);
	if (tenant)
		return (int)(tenant - groups->tenants);
	drm_group_id(groups->root, name, id);
	tenant = follow(groups, id, name);
	if (!tenant)
		tenant = add(groups, id, name);
	if (tenant)
		return (int)(tenant - groups->tenants);
	refuse(groups, id, name);
	return -ENOENT;
}

struct search {
	const char *root, *id;
	char name[NAME_BYTES];
};

static int match(void *userdata, const char *name)
{
	struct search *search = userdata;
	char id[ID_MAX];

	if (strlen(name) >= sizeof(search->name))
		return 0;
	drm_group_id(search->root, name, id);
	if (strcmp(id, search->id) != 0)
		return 0;
	strcpy(search->name, name);
	return 1;
}

/*
 * Returns the tenant with that id, which is added if a group of this id exists. NULL: there is no
 * such group, its tenant is gone, or no slot is free.
 */
static struct tenant *find_group(struct groups *groups, const char *id)
{
	struct tenant *tenant = find_id(groups, id);
	struct search search = {.root = groups->root, .id = id};

	if (tenant)
		return tenant->gone ? NULL : tenant;
	if (cgroup_each(&groups->host, groups->root, match, &search) != 1)
		return NULL;
	return add(groups, id, search.name);
}

/* Writes the path of @file of a tenant; "": of its control group. */
static int path_of(const struct groups *groups, const struct tenant *tenant, const char *file,
		   char ret_path[PATH_MAX])
{
	char group[PATH_MAX];

	if (snprintf(group, sizeof(group), "%s/%s", groups->root, tenant->name) >= PATH_MAX)
		return -ENAMETOOLONG;
	return cgroup_path(&groups->host, 0, group, file, ret_path);
}

static bool exists(const struct groups *groups, const struct tenant *tenant)
{
	char path[PATH_MAX];

	return path_of(groups, tenant, "", path) == 0 &&
	       (access(path, F_OK) == 0 || errno != ENOENT);
}

/* A program of a refused group is seen again at the latest after GONE_SAMPLES. */
static void expire_refused(struct groups *groups)
{
	for (int i = 0; i < REFUSED_MAX; i++) {
		struct refused *refused = &groups->refused[i];

		if (refused->id[0] &&
		    (refused->age++ >= GONE_SAMPLES || find_name(groups, refused->name)))
			*refused = (struct refused){.full = false};
	}
}

/*
 * Marks tenants whose groups were removed as gone, and frees their slots later. A gone tenant
 * without a vGPU returns if its group exists again. Called once per sample.
 */
static void expire_groups(struct groups *groups)
{
	expire_refused(groups);
	for (int i = 0; i < TENANTS_MAX; i++) {
		struct tenant *tenant = &groups->tenants[i];

		if (!tenant->used)
			continue;
		/* A restarted service has a new group of the same name. The vGPU of the old group
		 * ends first. */
		if (exists(groups, tenant) && (!tenant->gone || tenant->n_vgpus == 0)) {
			tenant->gone = 0;
			continue;
		}
		if (tenant->n_vgpus == 0 && tenant->gone >= GONE_SAMPLES)
			tenant->used = false;
		tenant->gone++;
	}
}

struct gpu {
	struct groups groups;
	char device[GPU_PARENT_MAX];
	char path[PATH_MAX]; /* of the device in sysfs; "": unknown */
	struct truth *truth;
	bool guarantees;
	bool complete;	    /* the last sample shows the use of all programs */
	struct err problem; /* see gpu_ops.observe.problem */
	uint64_t sample;    /* number of the last sample; 0: none */
	uint64_t at_ns;	    /* time of the last sample */
	bool swept;	    /* a sweep has ended since the last sample */
	double grown_ns[TENANTS_MAX][TRUTH_CLASSES_MAX]; /* in the last sample */
	double busy_ns;					 /* of all programs on the host */
	uint64_t physical_sample;			 /* last sample that physical() has used */
};

struct gpu_vgpu {
	struct gpu *gpu;
	struct tenant *tenant;
	uint64_t sample;   /* last sample that a reading has used */
	uint64_t begin_ns; /* busy time of the tenant when the vGPU was attached */
	uint64_t sched_begin_ns;
};

/* --- samples --- */

static int tenant_of(void *userdata, pid_t pid)
{
	int r = find_tenant(userdata, pid);

	if (r == -ENOENT)
		return TRUTH_TENANT_NONE;
	return r < 0 ? TRUTH_TENANT_UNKNOWN : r;
}

static double largest(const double values[TRUTH_CLASSES_MAX])
{
	double most = 0;

	for (int i = 0; i < TRUTH_CLASSES_MAX; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

/*
 * Without limits, a tenant could have used the time that it has used and the time in which the GPU
 * was idle. Part of the time is never 0, because the tenant could also have taken it from others.
 */
static double available_ns(double own_ns, double idle_ns, double passed_ns)
{
	return fmax(own_ns + idle_ns, passed_ns / 100);
}

/* Adds up the growth of the users of each tenant, and the memory that they have. */
static void distribute(struct gpu *gpu, uint64_t passed_ns)
{
	struct tenant *tenants = gpu->groups.tenants;
	double all[TRUTH_CLASSES_MAX] = {0}, idle_ns;
	const struct truth_user *user;
	size_t n;

	memset(gpu->grown_ns, 0, sizeof(gpu->grown_ns));
	for (int i = 0; i < TENANTS_MAX; i++) {
		tenants[i].memory_valid = false;
		tenants[i].memory_bytes = 0;
	}
	user = truth_users(gpu->truth, &n);
	for (; n > 0; n--, user++) {
		for (int i = 0; i < TRUTH_CLASSES_MAX; i++)
			all[i] += user->grown_ns[i];
		if (user->tenant < 0)
			continue;
		for (int i = 0; i < TRUTH_CLASSES_MAX; i++)
			gpu->grown_ns[user->tenant][i] += user->grown_ns[i];
		tenants[user->tenant].memory_valid |= user->memory_valid;
		tenants[user->tenant].memory_bytes += user->memory_bytes;
	}
	idle_ns = fmax((double)passed_ns - largest(all), 0);
	for (int i = 0; i < TENANTS_MAX; i++) {
		double own_ns = largest(gpu->grown_ns[i]);

		tenants[i].busy_ns += (uint64_t)own_ns;
		tenants[i].sched_ns += (uint64_t)available_ns(own_ns, idle_ns, (double)passed_ns);
	}
	gpu->busy_ns += largest(all);
}

/* False if the last sample does not show the use of all programs. */
static bool is_complete(const struct gpu *gpu)
{
	return !truth_report(gpu->truth)->problem.msg[0];
}

/* A first complete sample gives no use yet, so that the reason of the last one holds. */
static void keep_problem(struct gpu *gpu)
{
	bool complete = is_complete(gpu);

	if (!complete || gpu->complete)
		gpu->problem = truth_report(gpu->truth)->problem;
	gpu->complete = complete;
}

static void take_sample(struct gpu *gpu, uint64_t now_mono_ns)
{
	int r;

	expire_groups(&gpu->groups);
	gpu->sample++;
	gpu->swept = false;
	r = truth_sample(gpu->truth, now_mono_ns);
	keep_problem(gpu);
	if (r < 0)
		return;
	distribute(gpu, gpu->at_ns && now_mono_ns > gpu->at_ns ? now_mono_ns - gpu->at_ns : 0);
	gpu->at_ns = now_mono_ns;
}

/*
 * Each sample gives one reading, so that all readings of a sweep have the same time. The first
 * reading of a sweep takes a new sample, because one between two sweeps may have taken the last.
 */
static void refresh(struct gpu *gpu, uint64_t used_sample, uint64_t now_mono_ns)
{
	if (gpu->swept || gpu->sample == used_sample)
		take_sample(gpu, now_mono_ns);
}

/* --- the GPU --- */

static void drm_close(struct gpu *gpu)
{
	if (!gpu)
		return;
	truth_close(gpu->truth);
	free(gpu);
}

static int open_truth(const struct gpu_config *config, struct gpu *gpu, struct err *reterr)
{
	struct truth_config truth = {
		.source = config->truth[0] ? config->truth : "auto",
		.proc = gpu->groups.proc,
		.device = gpu->device,
		.tenant = tenant_of,
		.userdata = &gpu->groups,
	};
	struct err err = {""};
	int r;

	if (strcmp(truth.source, "none") == 0)
		return err_fail(reterr, EINVAL,
				"GPU %s: truth = none: backend drm has no other source (allowed: "
				"auto, fdinfo or nvml)",
				config->name);
	r = truth_open(&truth, &gpu->truth, &err);
	return r < 0 ? err_fail(reterr, -r, "GPU %s: %s", config->name, err.msg) : 0;
}

static int drm_open(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr)
{
	struct gpu *gpu = xcalloc(1, sizeof(*gpu));
	struct err err = {""};
	int r;

	gpu->guarantees = gpu->complete = true;
	r = init_groups(config, &gpu->groups, reterr);
	if (r == 0) {
		r = drm_device_find(SYSFS, config->parent, gpu->device, gpu->path, &err);
		/* NVIDIA's driver can be loaded without its DRM part. */
		if (r == -EOPNOTSUPP && strcmp(config->truth, "fdinfo") != 0)
			r = 0;
		if (r < 0)
			(void)err_fail(reterr, -r, "GPU %s: %s", config->name, err.msg);
	}
	if (r == 0)
		r = open_truth(config, gpu, reterr);
	if (r < 0) {
		drm_close(gpu);
		return r;
	}
	*ret_gpu = gpu;
	return 0;
}

static void drm_traits(const struct gpu *gpu, struct gpu_traits *ret_traits)
{
	*ret_traits = (struct gpu_traits){
		.step_pct = 1,
		.floor_pct = 1,
		.share = GPU_RELATIVE_SLICE,
		.guarantees = gpu->guarantees,
		.observes = true,
		.truth = truth_report(gpu->truth)->source,
		.sysfs_device = gpu->path[0] ? gpu->path : NULL,
	};
}

/* A GPU without limits is used like one whose caps are guaranteed: each vGPU can use idle time. */
static int drm_set_sharing(struct gpu *gpu, bool guarantee, bool by_default, struct err *reterr)
{
	if (!guarantee && !by_default)
		return err_fail(reterr, EOPNOTSUPP,
				"sharing = hard: backend drm cannot limit a vGPU (allowed: auto or "
				"guarantee)");
	gpu->guarantees = guarantee;
	return 0;
}

static int drm_list(struct gpu *gpu, gpu_found_fn found, void *userdata)
{
	for (int i = 0; i < TENANTS_MAX; i++) {
		const struct tenant *tenant = &gpu->groups.tenants[i];

		/* Nothing limits a control group, so it may use the whole GPU. */
		if (tenant->used && !tenant->gone)
			found(userdata, tenant->id, 100);
	}
	/* drm_attach() refuses these, with the reason. */
	for (int i = 0; i < REFUSED_MAX; i++)
		if (gpu->groups.refused[i].id[0])
			found(userdata, gpu->groups.refused[i].id, 100);
	return 0;
}

static int drm_create(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	(void)gpu, (void)cap_pct;
	return err_fail(reterr, EOPNOTSUPP,
			"vGPU %s: backend drm creates no control groups (start a container)", id);
}

static int drm_destroy(struct gpu *gpu, const char *id, struct err *reterr)
{
	(void)gpu;
	return err_fail(reterr, EOPNOTSUPP,
			"vGPU %s: backend drm removes no control groups (stop the container)", id);
}

/* --- vGPUs --- */

static int fail_refused(const struct refused *refused, struct err *reterr)
{
	if (refused->full)
		return err_fail(reterr, ENOSPC,
				"vGPU %s: more than %d control groups use the GPU, and %s is one "
				"of those without a place",
				refused->id, TENANTS_MAX, refused->name);
	return err_fail(reterr, EEXIST,
			"vGPU %s: another control group has the id of %s (rename one of them)",
			refused->id, refused->name);
}

static int drm_attach(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		      struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	const struct refused *refused = find_refusal(&gpu->groups, id);
	struct tenant *tenant = refused ? NULL : find_group(&gpu->groups, id);
	struct gpu_vgpu *vgpu;

	(void)now_mono_ns;
	if (refused)
		return fail_refused(refused, reterr);
	if (!tenant || !exists(&gpu->groups, tenant))
		return err_fail(reterr, ENOENT, "vGPU %s: no control group below %s has this name",
				id, gpu->groups.root);
	vgpu = xcalloc(1, sizeof(*vgpu));
	tenant->n_vgpus++;
	*vgpu = (struct gpu_vgpu){.gpu = gpu,
				  .tenant = tenant,
				  .begin_ns = tenant->busy_ns,
				  .sample = gpu->sample,
				  .sched_begin_ns = tenant->sched_ns};
	*ret_vgpu = vgpu;
	return 0;
}

static void drm_detach(struct gpu_vgpu *vgpu)
{
	if (!vgpu)
		return;
	vgpu->tenant->n_vgpus--;
	free(vgpu);
}

/* The schedulers of GPUs serve their programs in turn, so that each vGPU can have an equal part. */
static int equal_pct(const struct gpu *gpu)
{
	int n = 0;

	for (int i = 0; i < TENANTS_MAX; i++)
		n += gpu->groups.tenants[i].used && !gpu->groups.tenants[i].gone;
	return n > 100 ? 1 : 100 / (n > 0 ? n : 1);
}

/* Returns false if the kernel does not have the file, or the value is "max". */
static bool read_dmem(const struct gpu_vgpu *vgpu, const char *file, uint64_t *ret_bytes)
{
	const struct gpu *gpu = vgpu->gpu;
	char path[PATH_MAX], text[DMEM_TEXT_MAX];

	return path_of(&gpu->groups, vgpu->tenant, file, path) == 0 &&
	       file_read_text(path, text, sizeof(text)) >= 0 &&
	       truth_parse_dmem(text, gpu->device, ret_bytes) == 0;
}

/* Uses dmem.current where the kernel has it, because it also counts memory that other processes
 * have opened. */
static void read_memory(const struct gpu_vgpu *vgpu, struct gpu_reading *reading)
{
	reading->memory_max_valid = read_dmem(vgpu, "dmem.max", &reading->memory_max_bytes);
	reading->memory_valid = read_dmem(vgpu, "dmem.current", &reading->memory_bytes);
	if (reading->memory_valid)
		return;
	reading->memory_valid = vgpu->tenant->memory_valid;
	reading->memory_bytes = vgpu->tenant->memory_bytes;
}

static int drm_read(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, struct gpu_reading *ret_reading)
{
	struct gpu *gpu = vgpu->gpu;

	refresh(gpu, vgpu->sample, now_mono_ns);
	if (vgpu->tenant->gone || !exists(&gpu->groups, vgpu->tenant))
		return -ENODEV;
	vgpu->sample = gpu->sample;
	*ret_reading = (struct gpu_reading){
		.at_ns = gpu->at_ns,
		/* The next reading does not cover the time of an incomplete one. */
		.busy_valid = is_complete(gpu),
		.busy_ns = vgpu->tenant->busy_ns - vgpu->begin_ns,
		.sched_ns = vgpu->tenant->sched_ns - vgpu->sched_begin_ns,
		.cap_valid = true,
		.cap_pct = equal_pct(gpu),
	};
	read_memory(vgpu, ret_reading);
	return 0;
}

static int drm_read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	*ret_cap_pct = equal_pct(vgpu->gpu);
	return 0;
}

static int drm_physical(struct gpu *gpu, uint64_t now_mono_ns, uint64_t *ret_at_ns,
			uint64_t *ret_busy_ns)
{
	refresh(gpu, gpu->physical_sample, now_mono_ns);
	/* This is the last reading of a sweep. */
	gpu->swept = true;
	gpu->physical_sample = gpu->sample;
	if (!is_complete(gpu))
		return -ENODATA;
	*ret_at_ns = gpu->at_ns;
	*ret_busy_ns = (uint64_t)gpu->busy_ns;
	return 0;
}

static void drm_problem(const struct gpu *gpu, struct err *ret_problem)
{
	*ret_problem = gpu->problem;
}

static void drm_source(const struct gpu *gpu, struct gpu_source *ret_source)
{
	const struct truth_report *report = truth_report(gpu->truth);

	*ret_source = (struct gpu_source){
		.name = report->source, .last = report->last, .most = report->most};
}

/* Changes no tenant, so that any thread can call it. */
static int drm_owner(struct gpu *gpu, pid_t pid, char ret_id[ID_MAX])
{
	char name[NAME_BYTES];
	int r = read_member(&gpu->groups, pid, name);

	if (r < 0)
		return r == -ESRCH ? -ENOENT : r;
	drm_group_id(gpu->groups.root, name, ret_id);
	return 0;
}

const struct gpu_ops gpu_drm_ops = {
	.name = "drm",
	.checks = gpu_drm_checks,
	.open = drm_open,
	.close = drm_close,
	.traits = drm_traits,
	.list = drm_list,
	.create = drm_create,
	.destroy = drm_destroy,
	.attach = drm_attach,
	.detach = drm_detach,
	.read = drm_read,
	.read_cap = drm_read_cap,
	.sharing.set = drm_set_sharing,
	.observe.physical = drm_physical,
	.observe.problem = drm_problem,
	.observe.source = drm_source,
	.processes.owner = drm_owner,
};
