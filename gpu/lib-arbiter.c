/* SPDX-License-Identifier: MIT */
/*
 * Starts the arbiter, and keeps one connection, which is opened again when it is lost, and the last
 * listing of tenants.
 *
 * gover-arbiter --background returns when its sockets are open. Its message goes to a memfd, not to
 * a pipe, so that neither a long message nor a descriptor that its daemon keeps can block the wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/spawn.h"
#include "gpu/lib-arbiter.h"

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

int lib_arbiter_control_path(const char *socket, char ret_path[GPU_SOCKET_MAX])
{
	int n = snprintf(ret_path, GPU_SOCKET_MAX, "%s" COMPUTE_CONTROL_SUFFIX, socket);

	return n < GPU_SOCKET_MAX ? 0 : -ENAMETOOLONG;
}

static bool is_unserved(int error)
{
	return error == -ECONNREFUSED || error == -ENOENT;
}

static int start(struct lib_arbiter *arbiter, struct err *reterr)
{
	if (arbiter->now_ns < arbiter->start_ns)
		return err_fail(reterr, ECONNREFUSED,
				"socket %s: no arbiter answers (gover-arbiter is started at most "
				"once a second)",
				arbiter->socket);
	arbiter->start_ns = arbiter->now_ns + START_INTERVAL_NS;
	return start_program(arbiter->socket, arbiter->name, arbiter->discipline, reterr);
}

static int open_control(struct lib_arbiter *arbiter, struct err *reterr)
{
	char path[GPU_SOCKET_MAX];
	int r = lib_arbiter_control_path(arbiter->socket, path);

	if (r == 0)
		r = compute_control_open(&arbiter->control, path);
	if (is_unserved(r) && arbiter->starts) {
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

static int ensure_control(struct lib_arbiter *arbiter, struct err *reterr)
{
	if (arbiter->control.fd >= 0)
		return 0;
	if (arbiter->now_ns < arbiter->retry_ns)
		return err_fail(reterr, ETIMEDOUT,
				"socket %s: the arbiter does not answer (is it stopped?)",
				arbiter->socket);
	return open_control(arbiter, reterr);
}

static int note_lost(struct lib_arbiter *arbiter, int error)
{
	if (error == -ETIMEDOUT)
		arbiter->retry_ns = arbiter->now_ns + RETRY_INTERVAL_NS;
	return error;
}

static int list_once(struct lib_arbiter *arbiter, struct err *reterr)
{
	struct compute_device device;
	unsigned int n;
	int r = ensure_control(arbiter, reterr);

	if (r < 0)
		return r;
	r = compute_control_list(&arbiter->control, CALL_LIMIT_MS, arbiter->tenants,
				 LIB_TENANTS_MAX, &device, &n);
	if (r < 0) {
		compute_control_close(&arbiter->control);
		arbiter->n_tenants = 0; /* the listing may be overwritten in part */
		arbiter->stale = true;
		return err_fail(reterr, -note_lost(arbiter, r),
				"socket %s: the arbiter does not answer: %s", arbiter->socket,
				strerror(-r));
	}
	arbiter->device = device;
	arbiter->n_tenants = n < LIB_TENANTS_MAX ? n : LIB_TENANTS_MAX;
	arbiter->listing++;
	arbiter->stale = false;
	return 0;
}

int lib_arbiter_list(struct lib_arbiter *arbiter, uint64_t now_ns, struct err *reterr)
{
	int r;

	if (now_ns > arbiter->now_ns)
		arbiter->now_ns = now_ns;
	r = list_once(arbiter, reterr);
	/* The arbiter ended since the last call. */
	return r == -ECONNRESET ? list_once(arbiter, reterr) : r;
}

static int call(struct lib_arbiter *arbiter, struct compute_request *request,
		struct compute_reply *ret_reply)
{
	int r = compute_control_call(&arbiter->control, request, CALL_LIMIT_MS, ret_reply);

	if (r < 0)
		return note_lost(arbiter, r);
	arbiter->stale = true;
	return -(int)ret_reply->error;
}

int lib_arbiter_add(struct lib_arbiter *arbiter, const struct compute_tenant *tenant)
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
	if (r == 0 && arbiter->n_tenants < LIB_TENANTS_MAX)
		arbiter->tenants[arbiter->n_tenants++] = reply.tenant[0];
	return r;
}

int lib_arbiter_remove(struct lib_arbiter *arbiter, uint32_t index)
{
	struct compute_request request;
	struct compute_reply reply;

	compute_control_make_request(COMPUTE_REMOVE, 0, &request);
	request.tenant = index;
	return call(arbiter, &request, &reply);
}

int lib_arbiter_set(struct lib_arbiter *arbiter, enum compute_verb verb, uint32_t index,
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

int lib_arbiter_set_discipline(struct lib_arbiter *arbiter)
{
	struct compute_request request;
	struct compute_reply reply;

	compute_control_make_request(COMPUTE_SET_DISCIPLINE, 0, &request);
	strcpy(request.id, arbiter->discipline);
	return call(arbiter, &request, &reply);
}

bool lib_arbiter_lost(const struct lib_arbiter *arbiter)
{
	return arbiter->control.fd < 0;
}

/* Tenants are in order of their indices. */
static const struct compute_tenant *find_index(const struct lib_arbiter *arbiter, uint32_t index)
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

const struct compute_tenant *lib_arbiter_find(const struct lib_arbiter *arbiter, const char *id,
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

void lib_arbiter_close(struct lib_arbiter *arbiter)
{
	compute_control_close(&arbiter->control);
}
