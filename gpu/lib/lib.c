/* SPDX-License-Identifier: MIT */
/*
 * lib: a GPU whose programs submit their work in turns that gover-arbiter grants
 * (compute-layer(7)). A vGPU is the control group ROOT/GPU/ID and the tenant of this group in the
 * arbiter. The arbiter enforces the cap and counts busy time and finished work units.
 *
 * The arbiter outlives the daemon, so that programs keep their caps. If it was killed, the next
 * call starts another one and adds all attached vGPUs with their last settings. busy_ns and frames
 * continue then, because only the growth of the arbiter's counters is added to them.
 *
 * One connection to the arbiter is kept. An arbiter is started if none serves the socket, at most
 * once a second. gover-arbiter --background returns when its sockets are open. Its message goes to
 * a memfd, not to a pipe, so that neither a long message nor a descriptor that its daemon keeps can
 * block the wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/linux/spawn.h"
#include "base/xalloc.h"
#include "compute/channel/control.h"
#include "gpu/cgroup-tree.h"
#include "gpu/io.h"

/* the tenant 0, the vGPUs, and some tenants of other programs */
#define TENANTS_MAX (GPU_IO_LISTED_MAX + 1)

#define CALL_LIMIT_MS	  200
#define START_INTERVAL_NS NS_PER_S
/* An arbiter that does not answer in time delays at most one call in this period. */
#define RETRY_INTERVAL_NS NS_PER_S

#define PROGRAM	      "gover-arbiter"
#define WAIT_LIMIT_NS (5 * NS_PER_S)
#define WAIT_STEP_NS  (2 * NS_PER_MS)
/* exit status of gover-arbiter: another arbiter serves the socket */
#define STATUS_SERVED 3

#define PATH_BYTES 4096

#define WEIGHT 100u /* equal for all vGPUs: only caps make shares different */
/* Readings of one sweep use the same listing. A sweep takes less than this. */
#define LISTING_OLD_NS (50 * NS_PER_MS)

/* The connection to gover-arbiter. After a lost connection, the next call connects again. */
struct arbiter {
	char socket[GPU_SOCKET_MAX];
	/* name of the device, and discipline of an arbiter that is started */
	char name[ID_MAX], discipline[16];
	bool starts; /* false: never start an arbiter */

	struct compute_control control;
	uint64_t now_ns;   /* latest time that a caller has given */
	uint64_t start_ns; /* no arbiter is started before this time */
	uint64_t retry_ns; /* a stopped arbiter is not asked again before this time */

	/* The last listing. Settings of tenants may have changed since. */
	struct compute_device device;
	struct compute_tenant tenants[TENANTS_MAX];
	unsigned int n_tenants;
	uint64_t listing; /* number of listings so far; 0: none */
	bool stale;	  /* a request has changed a tenant since the listing */
};

static void find_program(char ret_path[PATH_BYTES])
{
	char exe[PATH_BYTES - sizeof(PROGRAM)];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	exe[n > 0 ? n : 0] = '\0';
	slash = strrchr(exe, '/');
	if (slash) {
		slash[1] = '\0';
		snprintf(ret_path, PATH_BYTES, "%s" PROGRAM, exe);
		if (access(ret_path, X_OK) == 0)
			return;
	}
	strcpy(ret_path, PROGRAM); /* in $PATH */
}

/* Returns the status of waitpid(), or -ETIMEDOUT after it has killed the process. */
static int wait_exit(pid_t pid)
{
	const struct timespec step = {.tv_nsec = WAIT_STEP_NS};
	uint64_t end_ns = clock_now().mono_ns + WAIT_LIMIT_NS;
	int status;
	pid_t r;

	while ((r = waitpid(pid, &status, WNOHANG)) != pid) {
		if (r < 0 && errno != EINTR)
			return -errno;
		if (clock_now().mono_ns > end_ns)
			break;
		(void)nanosleep(&step, NULL);
	}
	if (r == pid)
		return status;
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return -ETIMEDOUT;
}

static int judge(const char *socket, int status, int output, struct err *reterr)
{
	char message[256];

	if (status < 0)
		return err_fail(reterr, -status, "socket %s: " PROGRAM " does not start: %s",
				socket, strerror(-status));
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == STATUS_SERVED))
		return 0;
	if (file_pread_text(output, message, sizeof(message)) <= 0)
		snprintf(message, sizeof(message), "%s %d",
			 WIFSIGNALED(status) ? "ended by signal" : "exit status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	message[strcspn(message, "\n")] = '\0';
	return err_fail(reterr, ECHILD, "socket %s: " PROGRAM " does not start: %s", socket,
			message);
}

/*
 * Starts gover-arbiter, which outlives this process: the program beside the running program, or
 * else the one in $PATH. Waits until it serves @socket, at most five seconds. Returns 0 if an
 * arbiter serves the socket, also if another process has started it. -ENOENT: the program is
 * missing; -ETIMEDOUT; -ECHILD: the program has failed.
 */
static int start_program(const char *socket, const char *name, const char *discipline,
			 struct err *reterr)
{
	const char *const arguments[] = {PROGRAM,	 "--socket", socket,	     "--name", name,
					 "--discipline", discipline, "--background", NULL};
	CLEANUP_CLOSE int output = memfd_create(PROGRAM, MFD_CLOEXEC);
	char program[PATH_BYTES];
	struct spawn spawn = {.program = program,
			      .arguments = arguments,
			      .fds = {SPAWN_NULL, SPAWN_NULL, output}};
	pid_t pid;
	int r;

	if (output < 0)
		return err_fail(reterr, errno, "socket %s: " PROGRAM " cannot be started: %m",
				socket);
	find_program(program);
	r = spawn_start(&spawn, &pid);
	if (r < 0)
		return err_fail(reterr, -r, "socket %s: " PROGRAM " cannot be started: %s", socket,
				r == -ENOENT ? "it is not installed" : strerror(-r));
	return judge(socket, wait_exit(pid), output, reterr);
}

/* --- the connection --- */

static int start(struct arbiter *arbiter, struct err *reterr)
{
	if (arbiter->now_ns < arbiter->start_ns)
		return err_fail(reterr, ECONNREFUSED,
				"socket %s: no arbiter answers (gover-arbiter is started at most "
				"once a second)",
				arbiter->socket);
	arbiter->start_ns = arbiter->now_ns + START_INTERVAL_NS;
	return start_program(arbiter->socket, arbiter->name, arbiter->discipline, reterr);
}

static int open_control(struct arbiter *arbiter, struct err *reterr)
{
	char path[COMPUTE_CONTROL_PATH_MAX];
	int r = compute_control_path(arbiter->socket, path);

	if (r == 0)
		r = compute_control_open(&arbiter->control, path);
	if ((r == -ECONNREFUSED || r == -ENOENT) && arbiter->starts) {
		r = start(arbiter, reterr);
		if (r < 0)
			return r;
		r = compute_control_open(&arbiter->control, path);
	}
	if (r < 0)
		return err_fail(reterr, -r, "socket %s: the arbiter cannot be reached: %s",
				arbiter->socket, strerror(-r));
	return 0;
}

static int ensure_control(struct arbiter *arbiter, struct err *reterr)
{
	if (arbiter->control.fd >= 0)
		return 0;
	if (arbiter->now_ns < arbiter->retry_ns)
		return err_fail(reterr, ETIMEDOUT,
				"socket %s: the arbiter does not answer (is it stopped?)",
				arbiter->socket);
	return open_control(arbiter, reterr);
}

static int note_lost(struct arbiter *arbiter, int error)
{
	if (error == -ETIMEDOUT)
		arbiter->retry_ns = arbiter->now_ns + RETRY_INTERVAL_NS;
	return error;
}

static int list_once(struct arbiter *arbiter, struct err *reterr)
{
	struct compute_device device;
	unsigned int n;
	int r = ensure_control(arbiter, reterr);

	if (r < 0)
		return r;
	r = compute_control_list(&arbiter->control, CALL_LIMIT_MS, arbiter->tenants, TENANTS_MAX,
				 &device, &n);
	if (r < 0) {
		compute_control_close(&arbiter->control);
		arbiter->n_tenants = 0; /* the listing may be overwritten in part */
		arbiter->stale = true;
		return err_fail(reterr, -note_lost(arbiter, r),
				"socket %s: the arbiter does not answer: %s", arbiter->socket,
				strerror(-r));
	}
	arbiter->device = device;
	arbiter->n_tenants = n < TENANTS_MAX ? n : TENANTS_MAX;
	arbiter->listing++;
	arbiter->stale = false;
	return 0;
}

static int list_tenants(struct arbiter *arbiter, uint64_t now_ns, struct err *reterr)
{
	int r;

	if (now_ns > arbiter->now_ns)
		arbiter->now_ns = now_ns;
	r = list_once(arbiter, reterr);
	/* The arbiter ended since the last call. */
	return r == -ECONNRESET ? list_once(arbiter, reterr) : r;
}

static int call(struct arbiter *arbiter, struct compute_request *request,
		struct compute_reply *ret_reply)
{
	int r = compute_control_call(&arbiter->control, request, CALL_LIMIT_MS, ret_reply);

	if (r < 0)
		return note_lost(arbiter, r);
	arbiter->stale = true;
	return -(int)ret_reply->error;
}

static int add_tenant(struct arbiter *arbiter, const struct compute_tenant *tenant)
{
	struct compute_request request;
	struct compute_reply reply;
	int r;

	compute_control_make_request(COMPUTE_ADD, 0, &request);
	request.weight = tenant->weight;
	request.cap_pct = tenant->cap_pct;
	request.guarantee_pct = tenant->guarantee_pct;
	request.memory_max_bytes = tenant->memory_max_bytes;
	memcpy(request.id, tenant->id, sizeof(request.id));
	r = call(arbiter, &request, &reply);
	/* The arbiter gives indices in increasing order, so the listing stays in order. */
	if (r == 0 && arbiter->n_tenants < TENANTS_MAX)
		arbiter->tenants[arbiter->n_tenants++] = reply.tenant[0];
	return r;
}

/* @verb: COMPUTE_SET_CAP (percent), COMPUTE_SET_MEMORY (bytes) or COMPUTE_REMOVE (0). */
static int set_tenant(struct arbiter *arbiter, enum compute_verb verb, uint32_t index,
		      uint64_t value)
{
	struct compute_request request;
	struct compute_reply reply;

	compute_control_make_request(verb, 0, &request);
	request.tenant = index;
	if (verb == COMPUTE_SET_CAP)
		request.cap_pct = (uint32_t)value;
	else
		request.memory_max_bytes = value;
	return call(arbiter, &request, &reply);
}

/* Tenants are in order of their indices. */
static const struct compute_tenant *find_index(const struct arbiter *arbiter, uint32_t index)
{
	unsigned int low = 0, high = arbiter->n_tenants;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (arbiter->tenants[middle].index == index)
			return &arbiter->tenants[middle];
		if (arbiter->tenants[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static const struct compute_tenant *find_tenant(const struct arbiter *arbiter, const char *id,
						uint32_t index)
{
	const struct compute_tenant *tenant = find_index(arbiter, index);

	/* Another arbiter may have given this index to another tenant. */
	if (tenant && strcmp(tenant->id, id) == 0)
		return tenant;
	for (unsigned int i = 0; i < arbiter->n_tenants; i++)
		if (strcmp(arbiter->tenants[i].id, id) == 0)
			return &arbiter->tenants[i];
	return NULL;
}

static void remove_tenant(struct arbiter *arbiter, const char *id)
{
	const struct compute_tenant *tenant = find_tenant(arbiter, id, COMPUTE_TENANT_NONE);

	if (tenant)
		(void)set_tenant(arbiter, COMPUTE_REMOVE, tenant->index, 0);
}

/* A counter that continues when the counters of the arbiter begin at 0 again. */
struct counter {
	uint64_t total;
	uint64_t last; /* value in the arbiter at the last reading */
};

struct gpu_vgpu {
	struct gpu_vgpu *next;
	struct gpu *gpu;
	char path[PATH_MAX]; /* folder of the control group; exists as long as the vGPU */
	ino_t inode;	     /* of this folder; a group that is created again has another one */
	/* settings for another arbiter, and the last reading of the tenant */
	struct compute_tenant tenant;
	/* start of the arbiter of @tenant; another arbiter may use its index for another tenant */
	uint64_t begin_ns;
	uint64_t listing; /* last listing that read() has returned */
	struct counter busy, units;
	double sched_ns;
	uint64_t at_ns; /* time up to which @sched_ns counts */
};

struct gpu {
	struct cgroup_tree tree;
	struct arbiter arbiter;
	struct gpu_vgpu *vgpus; /* attached vGPUs */
	uint64_t listing;	/* last listing that physical() has returned */
	uint64_t begin_ns;	/* start of the arbiter of @busy */
	struct counter busy;
};

static void count(struct counter *counter, uint64_t value, bool same_arbiter)
{
	counter->total += same_arbiter && value >= counter->last ? value - counter->last : value;
	counter->last = value;
}

/* --- vGPUs and their tenants --- */

/* Writes the id of the tenant of @group. gover-arbiter finds the group of a program in this form.
 */
static int tenant_id(const char *group, char ret_id[COMPUTE_ID_MAX])
{
	return snprintf(ret_id, COMPUTE_ID_MAX, "/%s", group) < COMPUTE_ID_MAX ? 0 : -ENAMETOOLONG;
}

static bool exists(const struct gpu_vgpu *vgpu)
{
	struct stat st;

	return stat(vgpu->path, &st) == 0 ? st.st_ino == vgpu->inode : errno != ENOENT;
}

static const struct compute_tenant *find(const struct gpu_vgpu *vgpu)
{
	return find_tenant(&vgpu->gpu->arbiter, vgpu->tenant.id, vgpu->tenant.index);
}

/* Lists the tenants, and adds the tenants that the arbiter does not have. */
static int refresh(struct gpu *gpu, uint64_t now_mono_ns, struct err *reterr)
{
	int r = list_tenants(&gpu->arbiter, now_mono_ns, reterr);

	for (struct gpu_vgpu *v = gpu->vgpus; r == 0 && v && !gpu->tree.dry_run; v = v->next) {
		if (find(v) || !exists(v))
			continue;
		r = add_tenant(&gpu->arbiter, &v->tenant);
		if (r < 0)
			r = err_fail(reterr, -r,
				     "socket %s: tenant %s cannot be added to the arbiter: %s",
				     gpu->arbiter.socket, v->tenant.id, strerror(-r));
	}
	return r;
}

/* Each listing gives one reading, so that the time of readings increases. */
static bool is_due(const struct gpu *gpu, uint64_t used_listing, uint64_t now_mono_ns)
{
	const struct arbiter *arbiter = &gpu->arbiter;

	return arbiter->stale || arbiter->listing == used_listing ||
	       now_mono_ns > arbiter->device.now_ns + LISTING_OLD_NS;
}

/* The tenants of removed vGPUs, whose removal an earlier daemon could not request. */
static void remove_lost_tenants(struct gpu *gpu)
{
	char prefix[COMPUTE_ID_MAX], path[PATH_MAX];
	struct arbiter *arbiter = &gpu->arbiter;
	size_t n;

	if (tenant_id(gpu->tree.group, prefix) < 0)
		return;
	n = strlen(prefix);
	for (unsigned int i = 0; i < arbiter->n_tenants; i++) {
		const char *id = arbiter->tenants[i].id;

		if (strncmp(id, prefix, n) != 0 || id[n] != '/' ||
		    cgroup_path(&gpu->tree.host, 0, gpu->tree.group, id + n + 1, path) < 0)
			continue;
		if (access(path, F_OK) < 0 && errno == ENOENT)
			(void)set_tenant(arbiter, COMPUTE_REMOVE, arbiter->tenants[i].index, 0);
	}
}

/* --- opening and closing --- */

static int make_groups(const struct gpu *gpu, struct err *reterr)
{
	int r = cgroup_tree_make_root(&gpu->tree, reterr);

	if (r >= 0)
		r = cgroup_make(&gpu->tree.host, gpu->tree.group, reterr);
	return r < 0 ? r : 0;
}

static void lib_close(struct gpu *gpu)
{
	if (!gpu)
		return;
	compute_control_close(&gpu->arbiter.control);
	cgroup_tree_remove_empty(&gpu->tree);
	free(gpu);
}

static int check_config(const struct gpu_config *config, struct gpu *gpu, struct err *reterr)
{
	char path[COMPUTE_CONTROL_PATH_MAX], id[COMPUTE_ID_MAX];
	int r = cgroup_tree_init(config, &gpu->tree, reterr);

	if (r < 0)
		return r;
	if (config->socket[0] == '\0' || compute_control_path(config->socket, path) < 0)
		return err_fail(reterr, EINVAL,
				"GPU %s: socket \"%s\" is not allowed (allowed: a path of at most "
				"%zu characters)",
				config->name, config->socket,
				GPU_SOCKET_MAX - sizeof(COMPUTE_CONTROL_SUFFIX));
	if (tenant_id(gpu->tree.group, id) < 0 || strlen(id) + ID_MAX >= sizeof(id))
		return err_fail(reterr, EINVAL, "GPU %s: root \"%s\" is too long (limit %zu bytes)",
				config->name, gpu->tree.root, sizeof(id) - 2 * ID_MAX);
	return 0;
}

/* Reports what a dry run does not create. */
static int open_existing(struct gpu *gpu, struct err *reterr)
{
	struct err missing;

	if (cgroup_tree_is_missing(&gpu->tree, reterr))
		return 1;
	if (list_tenants(&gpu->arbiter, 0, &missing) < 0) {
		(void)err_fail(reterr, ENOENT, "%.500s (a dry run starts no arbiter)", missing.msg);
		return 1;
	}
	return 0;
}

/* An arbiter that was started with another configuration changes its discipline. */
static int set_discipline(struct gpu *gpu, struct err *reterr)
{
	const char *discipline = gpu->arbiter.discipline;
	struct compute_request request;
	struct compute_reply reply;
	int r;

	if (strcmp(gpu->arbiter.device.discipline, discipline) == 0)
		return 0;
	compute_control_make_request(COMPUTE_SET_DISCIPLINE, 0, &request);
	strcpy(request.id, discipline);
	r = call(&gpu->arbiter, &request, &reply);
	return r < 0 ? err_fail(reterr, -r, "socket %s: discipline %s cannot be set: %s",
				gpu->arbiter.socket, discipline, strerror(-r))
		     : 0;
}

static int establish(struct gpu *gpu, struct err *reterr)
{
	int r = make_groups(gpu, reterr);

	if (r == 0)
		r = list_tenants(&gpu->arbiter, 0, reterr);
	if (r < 0)
		return r;
	remove_lost_tenants(gpu);
	return set_discipline(gpu, reterr);
}

static int lib_open(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr)
{
	struct gpu *gpu = xcalloc(1, sizeof(*gpu));
	int r;

	r = check_config(config, gpu, reterr);
	if (r < 0) {
		free(gpu);
		return r;
	}
	gpu->arbiter.control = COMPUTE_CONTROL_NULL;
	gpu->arbiter.starts = !config->dry_run;
	strcpy(gpu->arbiter.socket, config->socket);
	strcpy(gpu->arbiter.name, config->name);
	strcpy(gpu->arbiter.discipline, config->discipline);
	r = gpu->tree.dry_run ? open_existing(gpu, reterr) : establish(gpu, reterr);
	if (r < 0) {
		lib_close(gpu);
		return r;
	}
	*ret_gpu = gpu;
	return r;
}

static void lib_traits(const struct gpu *gpu, struct gpu_traits *ret_traits)
{
	*ret_traits = (struct gpu_traits){
		.step_pct = 1,
		.floor_pct = 1,
		.share = GPU_HARD_CAP,
		.creates = true,
		.counts_frames = true,
		.unit = GPU_WORK,
		.limits_memory = true,
		.compute_socket = gpu->arbiter.socket,
	};
}

/* --- vGPUs --- */

static int lib_list(struct gpu *gpu, gpu_found_fn found, void *userdata)
{
	return cgroup_tree_list(&gpu->tree, found, userdata);
}

static void init_tenant(struct compute_tenant *tenant, int cap_pct)
{
	*tenant = (struct compute_tenant){
		.index = COMPUTE_TENANT_NONE,
		.weight = WEIGHT,
		.cap_pct = (uint32_t)cap_pct,
		.memory_max_bytes = COMPUTE_MEMORY_NO_LIMIT,
	};
}

/* Adds the tenant of a new control group. A tenant of a removed group with this name is removed. */
static int add_new(struct gpu *gpu, const char *group, int cap_pct, struct err *reterr)
{
	struct compute_tenant tenant;
	int r;

	init_tenant(&tenant, cap_pct);
	r = tenant_id(group, tenant.id);
	if (r < 0)
		return err_fail(reterr, -r, "control group %s: %s", group, strerror(-r));
	r = refresh(gpu, gpu->arbiter.now_ns, reterr);
	if (r < 0)
		return r;
	remove_tenant(&gpu->arbiter, tenant.id);
	r = add_tenant(&gpu->arbiter, &tenant);
	return r < 0 ? err_fail(reterr, -r, "socket %s: tenant %s cannot be added: %s",
				gpu->arbiter.socket, tenant.id, strerror(-r))
		     : 0;
}

static int lib_create(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	char group[PATH_MAX];
	int r;

	if (cap_pct < 1 || cap_pct > 100)
		return err_fail(reterr, EINVAL,
				"vGPU %s: cap %d %% is not allowed (allowed: 1..100)", id, cap_pct);
	r = make_groups(gpu, reterr); /* another program may have removed ROOT/GPU */
	if (r == 0)
		r = cgroup_tree_create(&gpu->tree, id, group, reterr);
	if (r < 0)
		return r;
	r = add_new(gpu, group, cap_pct, reterr);
	if (r < 0)
		(void)cgroup_remove(&gpu->tree.host, group);
	return r;
}

static int lib_destroy(struct gpu *gpu, const char *id, struct err *reterr)
{
	int r = cgroup_tree_destroy(&gpu->tree, id, reterr);
	char group[PATH_MAX], name[COMPUTE_ID_MAX];

	/* If the arbiter cannot be reached, open() or create() removes the tenant later. */
	if (r == 0 && cgroup_tree_vgpu(&gpu->tree, id, group) == 0 && tenant_id(group, name) == 0 &&
	    refresh(gpu, gpu->arbiter.now_ns, NULL) == 0)
		remove_tenant(&gpu->arbiter, name);
	return r;
}

static void lib_detach(struct gpu_vgpu *vgpu)
{
	struct gpu_vgpu **link;

	if (!vgpu)
		return;
	for (link = &vgpu->gpu->vgpus; *link != vgpu; link = &(*link)->next)
		;
	*link = vgpu->next;
	free(vgpu);
}

/* Counts the time since the last call with the cap that was in force. */
static void integrate(struct gpu_vgpu *vgpu, uint64_t now_mono_ns)
{
	uint32_t cap_pct = vgpu->tenant.cap_pct;

	if (now_mono_ns <= vgpu->at_ns)
		return;
	vgpu->sched_ns += (cap_pct ? cap_pct : 100) / 100.0 * (double)(now_mono_ns - vgpu->at_ns);
	vgpu->at_ns = now_mono_ns;
}

/* Takes over the tenant of the last listing. */
static void take(struct gpu_vgpu *vgpu, const struct compute_tenant *tenant)
{
	const struct arbiter *arbiter = &vgpu->gpu->arbiter;
	bool same =
		vgpu->begin_ns == arbiter->device.begin_ns && vgpu->tenant.index == tenant->index;

	integrate(vgpu, arbiter->device.now_ns);
	count(&vgpu->busy, tenant->busy_ns, same);
	count(&vgpu->units, tenant->units, same);
	vgpu->tenant = *tenant;
	vgpu->begin_ns = arbiter->device.begin_ns;
	vgpu->listing = arbiter->listing;
}

static int open_vgpu(struct gpu *gpu, const char *id, struct gpu_vgpu *vgpu)
{
	char group[PATH_MAX];
	struct stat st;
	int r = cgroup_tree_vgpu(&gpu->tree, id, group);

	/* The arbiter does not know a cap of this vGPU. The daemon sets it after a reading. */
	init_tenant(&vgpu->tenant, 0);
	if (r == 0)
		r = tenant_id(group, vgpu->tenant.id);
	if (r == 0)
		r = cgroup_path(&gpu->tree.host, 0, group, "", vgpu->path);
	if (r == 0 && stat(vgpu->path, &st) < 0)
		r = -errno;
	if (r == 0)
		vgpu->inode = st.st_ino;
	return r;
}

static int lib_attach(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		      struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	struct gpu_vgpu *vgpu = xcalloc(1, sizeof(*vgpu));
	const struct compute_tenant *tenant;
	int r;

	r = open_vgpu(gpu, id, vgpu);
	if (r < 0) {
		free(vgpu);
		return err_fail(reterr, -r, "vGPU %s: its control group cannot be opened: %s", id,
				strerror(-r));
	}
	vgpu->gpu = gpu;
	vgpu->next = gpu->vgpus;
	vgpu->at_ns = now_mono_ns;
	gpu->vgpus = vgpu;
	r = refresh(gpu, now_mono_ns, reterr);
	/* A dry run shows also vGPUs that the arbiter does not know. */
	if (r < 0 && !gpu->tree.dry_run) {
		lib_detach(vgpu);
		return r;
	}
	tenant = r == 0 ? find(vgpu) : NULL;
	if (tenant)
		take(vgpu, tenant);
	vgpu->listing = 0;
	*ret_vgpu = vgpu;
	return 0;
}

static uint64_t lib_identity(const struct gpu_vgpu *vgpu)
{
	return vgpu->inode;
}

/* Finds the tenant in a listing that this vGPU has not used. Returns -ENODEV if the vGPU is gone.
 */
static int find_current(struct gpu_vgpu *vgpu, uint64_t now_mono_ns,
			const struct compute_tenant **ret_tenant)
{
	struct gpu *gpu = vgpu->gpu;
	int r = 0;

	if (!exists(vgpu))
		return -ENODEV;
	if (is_due(gpu, vgpu->listing, now_mono_ns))
		r = refresh(gpu, now_mono_ns, NULL);
	if (r < 0)
		return r;
	*ret_tenant = find(vgpu);
	return *ret_tenant ? 0 : -ENODATA;
}

static int lib_read(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, struct gpu_reading *ret_reading)
{
	const struct compute_tenant *tenant;
	int r = find_current(vgpu, now_mono_ns, &tenant);

	if (r < 0)
		return r;
	take(vgpu, tenant);
	*ret_reading = (struct gpu_reading){
		.at_ns = vgpu->gpu->arbiter.device.now_ns,
		.busy_valid = true,
		.busy_ns = vgpu->busy.total,
		.sched_ns = (uint64_t)vgpu->sched_ns,
		.cap_valid = true,
		.cap_pct = (int)tenant->cap_pct,
		.ask = tenant->state == COMPUTE_IDLE ? GPU_ASK_NOTHING : GPU_ASK_WORK,
		/* Without a program, the rate is unknown and not 0. */
		.frames_valid = tenant->clients > 0,
		.frames = vgpu->units.total,
		.memory_valid = true,
		.memory_bytes = tenant->memory_bytes,
	};
	return 0;
}

static int lib_read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	const struct compute_tenant *tenant;
	int r;

	vgpu->gpu->arbiter.stale = true;
	r = find_current(vgpu, vgpu->gpu->arbiter.now_ns, &tenant);
	if (r == 0)
		*ret_cap_pct = (int)tenant->cap_pct;
	return r;
}

/* Sends a SET request of the tenant. @now_mono_ns 0: the last known time. */
static int set(struct gpu_vgpu *vgpu, enum compute_verb verb, uint64_t value, uint64_t now_mono_ns)
{
	struct arbiter *arbiter = &vgpu->gpu->arbiter;
	const struct compute_tenant *tenant;
	int r = -ENOENT;

	if (!exists(vgpu))
		return -ENODEV;
	if (vgpu->begin_ns == arbiter->device.begin_ns)
		r = set_tenant(arbiter, verb, vgpu->tenant.index, value);
	if (arbiter->control.fd >= 0 && r != -ENOENT)
		return r;
	/* The arbiter ended since the last call, or it does not have this tenant. */
	arbiter->stale = true;
	r = find_current(vgpu, now_mono_ns, &tenant);
	if (r < 0)
		return r;
	take(vgpu, tenant);
	return set_tenant(arbiter, verb, vgpu->tenant.index, value);
}

static int lib_write_cap(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	int r;

	if (cap_pct < 1 || cap_pct > 100)
		return -EINVAL;
	r = set(vgpu, COMPUTE_SET_CAP, (uint64_t)cap_pct, now_mono_ns);
	if (r < 0)
		return r;
	integrate(vgpu, now_mono_ns);
	vgpu->tenant.cap_pct = (uint32_t)cap_pct;
	return 0;
}

static int lib_write_memory(struct gpu_vgpu *vgpu, uint64_t max_bytes)
{
	uint64_t limit = max_bytes == 0 ? COMPUTE_MEMORY_NO_LIMIT : max_bytes;
	int r = set(vgpu, COMPUTE_SET_MEMORY, limit, 0);

	if (r == 0)
		vgpu->tenant.memory_max_bytes = limit;
	return r;
}

static int lib_physical(struct gpu *gpu, uint64_t now_mono_ns, uint64_t *ret_at_ns,
			uint64_t *ret_busy_ns)
{
	const struct compute_device *device = &gpu->arbiter.device;
	int r = 0;

	if (is_due(gpu, gpu->listing, now_mono_ns))
		r = refresh(gpu, now_mono_ns, NULL);
	if (r < 0)
		return r;
	count(&gpu->busy, device->busy_ns, gpu->begin_ns == device->begin_ns);
	gpu->begin_ns = device->begin_ns;
	gpu->listing = gpu->arbiter.listing;
	*ret_at_ns = device->now_ns;
	*ret_busy_ns = gpu->busy.total;
	return 0;
}

static int lib_owner(struct gpu *gpu, pid_t pid, char ret_id[ID_MAX])
{
	return cgroup_tree_owner(&gpu->tree, pid, ret_id);
}

static int lib_places(struct gpu *gpu, const char *id, gpu_path_fn path, void *userdata)
{
	return cgroup_tree_places(&gpu->tree, id, path, userdata);
}

const struct gpu_ops gpu_lib_ops = {
	.name = "lib",
	.open = lib_open,
	.close = lib_close,
	.traits = lib_traits,
	.list = lib_list,
	.create = lib_create,
	.destroy = lib_destroy,
	.attach = lib_attach,
	.detach = lib_detach,
	.identity = lib_identity,
	.read = lib_read,
	.write_cap = lib_write_cap,
	.read_cap = lib_read_cap,
	.memory.write = lib_write_memory,
	.observe.physical = lib_physical,
	.processes.owner = lib_owner,
	.processes.places = lib_places,
};
