/* SPDX-License-Identifier: MIT */
/*
 * The backend lib with real control groups. The arbiter is a thread that answers the control
 * protocol from a table of tenants; its socket is FOLDER/s.control. compute/lib-caps.sh tests the
 * real arbiter. The test is skipped if no control group can be written.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "compute/channel/control.h"
#include "tests/unit/gpu/test-gpu.h"
#include "tests/unit/temp-folder.h"

static struct gpu_config config;

static struct {
	pthread_t thread;
	pthread_mutex_t lock; /* protects the members below */
	bool runs, mute;      /* mute: receives requests and sends no reply */
	int listener, connection;
	struct compute_device device;
	struct compute_tenant tenants[8];
	uint32_t n, next_index;
	int requests, lists;
} arbiter = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct compute_tenant *tenant_at(uint32_t index)
{
	for (uint32_t i = 0; i < arbiter.n; i++)
		if (arbiter.tenants[i].index == index)
			return &arbiter.tenants[i];
	return NULL;
}

static struct compute_tenant *tenant_of(const char *name)
{
	char id[COMPUTE_ID_MAX];

	snprintf(id, sizeof(id), "/%.200s/gpu0/%s", config.root, name);
	for (uint32_t i = 0; i < arbiter.n; i++)
		if (strcmp(arbiter.tenants[i].id, id) == 0)
			return &arbiter.tenants[i];
	return NULL;
}

static struct compute_tenant *add(const char *id, uint32_t cap_pct)
{
	struct compute_tenant *tenant = &arbiter.tenants[arbiter.n++];

	assert_true(arbiter.n <= ARRAY_SIZE(arbiter.tenants));
	*tenant = (struct compute_tenant){
		.index = arbiter.next_index++, .weight = 1, .cap_pct = cap_pct};
	strcpy(tenant->id, id);
	return tenant;
}

static uint32_t act(const struct compute_request *request, struct compute_reply *reply)
{
	struct compute_tenant *tenant = tenant_at(request->tenant);

	switch (request->verb) {
	case COMPUTE_LIST:
		arbiter.lists += request->tenant == 0;
		reply->tenants = arbiter.n;
		memcpy(reply->tenant, arbiter.tenants, sizeof(arbiter.tenants));
		return 0;
	case COMPUTE_ADD:
		for (uint32_t i = 0; i < arbiter.n; i++)
			if (strcmp(arbiter.tenants[i].id, request->id) == 0)
				return EEXIST;
		tenant = add(request->id, request->cap_pct);
		tenant->memory_max_bytes = request->memory_max_bytes;
		tenant->weight = request->weight;
		break;
	case COMPUTE_SET_CAP:
		if (!tenant)
			return ENOENT;
		tenant->cap_pct = request->cap_pct;
		break;
	case COMPUTE_SET_MEMORY:
		if (!tenant)
			return ENOENT;
		tenant->memory_max_bytes = request->memory_max_bytes;
		break;
	case COMPUTE_REMOVE:
		if (!tenant)
			return ENOENT;
		arbiter.n--;
		memmove(tenant, tenant + 1,
			(size_t)(arbiter.tenants + arbiter.n - tenant) * sizeof(*tenant));
		return 0;
	case COMPUTE_SET_DISCIPLINE:
		strcpy(arbiter.device.discipline, request->id);
		return 0;
	default:
		return EINVAL;
	}
	reply->tenants = 1;
	reply->tenant[0] = *tenant;
	return 0;
}

static void answer(int fd, const struct compute_request *request)
{
	struct compute_reply reply = {
		.magic = COMPUTE_CONTROL_MAGIC,
		.version = COMPUTE_CONTROL_VERSION,
		.verb = request->verb,
		.serial = request->serial,
		.next = COMPUTE_TENANT_NONE,
	};

	arbiter.requests++;
	if (arbiter.mute)
		return;
	reply.error = act(request, &reply);
	if (reply.error)
		reply.tenants = 0;
	reply.device = arbiter.device;
	(void)send(fd, &reply, COMPUTE_REPLY_BYTES(reply.tenants), MSG_NOSIGNAL);
}

/* Accepts one connection after the other. shutdown() of the sockets ends it. */
static void *serve(void *userdata)
{
	struct compute_request request;
	int fd;

	(void)userdata;
	while ((fd = accept(arbiter.listener, NULL, NULL)) >= 0) {
		pthread_mutex_lock(&arbiter.lock);
		arbiter.connection = fd;
		if (!arbiter.runs)
			(void)shutdown(fd, SHUT_RDWR);
		pthread_mutex_unlock(&arbiter.lock);
		while (recv(fd, &request, sizeof(request), 0) == sizeof(request)) {
			pthread_mutex_lock(&arbiter.lock);
			answer(fd, &request);
			pthread_mutex_unlock(&arbiter.lock);
		}
		pthread_mutex_lock(&arbiter.lock);
		arbiter.connection = -1;
		(void)close(fd);
		pthread_mutex_unlock(&arbiter.lock);
	}
	return NULL;
}

static void control_address(struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof(address->sun_path), "%s/s.control", temp_folder);
}

/* Starts the fake arbiter. It has one tenant, number 0. */
static void start_arbiter(void)
{
	struct sockaddr_un address;

	control_address(&address);
	arbiter.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(arbiter.listener >= 0);
	assert_int_equal(bind(arbiter.listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(arbiter.listener, 8), 0);
	arbiter.device.begin_ns++;
	arbiter.device.busy_ns = 0;
	arbiter.n = arbiter.next_index = 0;
	arbiter.connection = -1;
	arbiter.mute = false;
	arbiter.runs = true;
	arbiter.lists = arbiter.requests = 0;
	add("", 0);
	assert_int_equal(pthread_create(&arbiter.thread, NULL, serve, NULL), 0);
}

static void stop_arbiter(void)
{
	struct sockaddr_un address;

	if (!arbiter.runs)
		return;
	control_address(&address);
	pthread_mutex_lock(&arbiter.lock);
	arbiter.runs = false;
	(void)shutdown(arbiter.listener, SHUT_RDWR);
	if (arbiter.connection >= 0)
		(void)shutdown(arbiter.connection, SHUT_RDWR);
	pthread_mutex_unlock(&arbiter.lock);
	assert_int_equal(pthread_join(arbiter.thread, NULL), 0);
	(void)close(arbiter.listener);
	(void)unlink(address.sun_path);
}

static void restart_arbiter(void)
{
	stop_arbiter();
	start_arbiter();
}

#define T0 (1000 * NS_PER_S)

static const struct gpu_ops *const ops = &gpu_lib_ops;
static struct gpu *gpu;
static struct err err;

/* --- the program gover-arbiter, which fails and counts its starts in a file --- */

static int starts(void)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/starts", temp_folder);
	return stat(path, &st) < 0 ? 0 : (int)st.st_size;
}

static int make_program(void)
{
	char path[64], text[256];
	int n;

	snprintf(path, sizeof(path), "%s/gover-arbiter", temp_folder);
	n = snprintf(text, sizeof(text),
		     "#!/bin/sh\nprintf x >>%s/starts\necho \"no device: $4\" >&2\nexit 1\n",
		     temp_folder);
	if (file_replace(path, text, (size_t)n) < 0 || chmod(path, 0755) < 0)
		return -1;
	snprintf(text, sizeof(text), "%s:/usr/bin:/bin", temp_folder);
	return setenv("PATH", text, 1);
}

/* --- tests --- */

static int set_up(void)
{
	start_arbiter();
	arbiter.device.now_ns = T0;
	err.msg[0] = '\0';
	return ops->open(&config, &gpu, &err);
}

static void destroy_one(void *userdata, const char *id, int initial_cap_pct)
{
	(void)userdata, (void)initial_cap_pct;
	(void)ops->destroy(gpu, id, NULL);
}

static int tear_down(void)
{
	(void)ops->list(gpu, destroy_one, NULL);
	ops->close(gpu);
	stop_arbiter();
	return 0;
}

FIXTURE(set_up, tear_down)

static struct gpu_vgpu *make_vgpu(const char *id, int cap_pct)
{
	struct gpu_vgpu *vgpu;

	assert_int_equal(ops->create(gpu, id, cap_pct, &err), 0);
	assert_int_equal(ops->attach(gpu, id, T0, &vgpu, &err), 0);
	return vgpu;
}

/* Reads at the time of the caller and of the arbiter. */
static struct gpu_reading read_at(struct gpu_vgpu *vgpu, uint64_t now_ns)
{
	struct gpu_reading reading = {.busy_valid = false};

	arbiter.device.now_ns = now_ns;
	assert_int_equal(ops->read(vgpu, now_ns, &reading), 0);
	return reading;
}

TEST(a_vgpu_is_a_control_group_and_a_tenant)
{
	char id[ID_MAX];

	assert_int_equal(ops->create(gpu, "a", 30, &err), 0);
	assert_non_null(tenant_of("a"));
	assert_int_equal(tenant_of("a")->cap_pct, 30);
	assert_true(tenant_of("a")->memory_max_bytes == COMPUTE_MEMORY_NO_LIMIT);
	assert_int_equal(ops->create(gpu, "a", 30, &err), -EEXIST);
	assert_int_equal(ops->create(gpu, "b", 0, &err), -EINVAL);
	assert_int_equal(ops->create(gpu, "b/c", 10, &err), -EINVAL);
	assert_int_equal(ops->processes.owner(gpu, getpid(), id), -ENOENT);
	assert_int_equal(ops->destroy(gpu, "a", &err), 0);
	assert_null(tenant_of("a"));
	assert_int_equal(ops->destroy(gpu, "a", &err), -ENOENT);
}

TEST(a_reading_has_the_counters_of_the_tenant)
{
	struct gpu_vgpu *a = make_vgpu("a", 40);
	struct gpu_reading reading = read_at(a, T0 + NS_PER_S);

	assert_true(reading.busy_valid && reading.cap_valid && !reading.frames_valid);
	assert_int_equal(reading.cap_pct, 40);
	assert_int_equal(reading.sched_ns, 400 * NS_PER_MS);
	tenant_of("a")->busy_ns = 70;
	tenant_of("a")->units = 7;
	tenant_of("a")->clients = 1;
	tenant_of("a")->cap_pct = 50; /* an external writer */
	reading = read_at(a, T0 + 2 * NS_PER_S);
	assert_true(reading.frames_valid);
	assert_int_equal(reading.at_ns, T0 + 2 * NS_PER_S);
	assert_int_equal(reading.busy_ns, 70);
	assert_int_equal(reading.frames, 7);
	assert_int_equal(reading.cap_pct, 50);
	assert_int_equal(reading.sched_ns, 800 * NS_PER_MS);
	assert_int_equal(ops->write_cap(a, T0 + 3 * NS_PER_S, 10), 0);
	assert_int_equal(tenant_of("a")->cap_pct, 10);
	/* one second with 50 % and one with 10 % */
	assert_int_equal(read_at(a, T0 + 4 * NS_PER_S).sched_ns, 1400 * NS_PER_MS);
	assert_int_equal(ops->write_cap(a, T0, 0), -EINVAL);
	assert_int_equal(ops->write_cap(a, T0, 101), -EINVAL);
	ops->detach(a);
}

TEST(a_sweep_reads_the_arbiter_once)
{
	struct gpu_vgpu *a = make_vgpu("a", 40), *b = make_vgpu("b", 40);
	uint64_t at_ns, busy_ns;

	arbiter.lists = 0;
	for (uint64_t sweep = 1; sweep <= 3; sweep++) {
		uint64_t now_ns = T0 + sweep * NS_PER_S;

		arbiter.device.busy_ns = sweep * 10;
		(void)read_at(a, now_ns);
		assert_int_equal(ops->read(b, now_ns + 1, &(struct gpu_reading){0}), 0);
		assert_int_equal(ops->observe.physical(gpu, now_ns + 2, &at_ns, &busy_ns), 0);
		assert_int_equal(at_ns, now_ns);
		assert_int_equal(busy_ns, sweep * 10);
		assert_int_equal(arbiter.lists, (int)sweep);
	}
	/* a second reading in the same instant would have no time of its own */
	(void)read_at(a, T0 + 3 * NS_PER_S + 3);
	assert_int_equal(arbiter.lists, 4);
	/* a listing is not used after a change */
	assert_int_equal(ops->write_cap(b, T0 + 3 * NS_PER_S + 4, 45), 0);
	assert_int_equal(read_at(b, T0 + 3 * NS_PER_S + 5).cap_pct, 45);
	ops->detach(b);
	ops->detach(a);
}

TEST(another_arbiter_gets_all_vgpus_with_their_caps)
{
	struct gpu_vgpu *a = make_vgpu("a", 30), *b = make_vgpu("b", 60);
	uint64_t at_ns, busy_ns;
	struct gpu_reading reading;

	tenant_of("a")->busy_ns = arbiter.device.busy_ns = 1000;
	tenant_of("a")->units = 10;
	tenant_of("a")->clients = 1;
	(void)read_at(a, T0 + NS_PER_S);
	assert_int_equal(ops->observe.physical(gpu, T0 + NS_PER_S, &at_ns, &busy_ns), 0);
	assert_int_equal(ops->write_cap(a, T0 + NS_PER_S, 35), 0);
	restart_arbiter();
	/* counters of programs that have connected since */
	arbiter.device.busy_ns = 1500;
	reading = read_at(a, T0 + 2 * NS_PER_S);
	assert_int_equal(reading.cap_pct, 35);
	assert_int_equal(reading.busy_ns, 1000);
	assert_int_equal(tenant_of("b")->cap_pct, 60);
	tenant_of("a")->busy_ns = 200;
	tenant_of("a")->units = 1;
	reading = read_at(a, T0 + 3 * NS_PER_S);
	assert_int_equal(reading.busy_ns, 1200);
	assert_int_equal(reading.frames, 11);
	assert_int_equal(ops->observe.physical(gpu, T0 + 3 * NS_PER_S, &at_ns, &busy_ns), 0);
	assert_int_equal(busy_ns, 2500);
	ops->detach(b);
	ops->detach(a);
}

/* The index of a vGPU in the first arbiter is that of another tenant in the second one. */
TEST(a_cap_is_not_written_to_another_tenant)
{
	struct gpu_vgpu *a = make_vgpu("a", 30), *b = make_vgpu("b", 60);
	struct compute_tenant *other;

	restart_arbiter();
	other = add("/other", 1);
	add("/another", 2);
	(void)read_at(a, T0 + NS_PER_S);
	assert_int_equal(ops->write_cap(b, T0 + NS_PER_S, 65), 0);
	assert_int_equal(other[0].cap_pct, 1);
	assert_int_equal(other[1].cap_pct, 2);
	assert_int_equal(tenant_of("b")->cap_pct, 65);
	expect_cap(ops, b, 65);

	restart_arbiter();
	assert_int_equal(ops->write_cap(b, T0 + 3 * NS_PER_S, 70), 0);
	assert_int_equal(tenant_of("b")->cap_pct, 70);
	assert_int_equal(tenant_of("a")->cap_pct, 30);
	ops->detach(b);
	ops->detach(a);
}

TEST(a_failing_start_is_tried_once_a_second)
{
	struct gpu_vgpu *a = make_vgpu("a", 30);
	struct gpu_reading reading;
	int before = starts();

	stop_arbiter();
	assert_int_equal(ops->read(a, T0 + NS_PER_S, &reading), -ECHILD);
	assert_int_equal(starts(), before + 1);
	assert_int_equal(ops->read(a, T0 + NS_PER_S + 1, &reading), -ECONNREFUSED);
	assert_int_equal(ops->write_cap(a, T0 + 2 * NS_PER_S - 1, 20), -ECONNREFUSED);
	assert_int_equal(ops->create(gpu, "b", 20, &err), -ECONNREFUSED);
	assert_non_null(strstr(err.msg, config.socket));
	assert_int_equal(starts(), before + 1);
	assert_int_equal(ops->read(a, T0 + 2 * NS_PER_S, &reading), -ECHILD);
	assert_int_equal(starts(), before + 2);
	ops->detach(a);
	ops->close(gpu);
	assert_int_equal(ops->open(&config, &gpu, &err), -ECHILD);
	assert_non_null(strstr(err.msg, config.socket));
	assert_non_null(strstr(err.msg, "no device: gpu0"));
	start_arbiter();
	assert_int_equal(ops->open(&config, &gpu, &err), 0);
}

TEST(a_stopped_arbiter_delays_one_call_a_second)
{
	struct gpu_vgpu *a = make_vgpu("a", 30);
	struct gpu_reading reading;
	int before = starts();

	arbiter.mute = true;
	arbiter.requests = 0;
	assert_int_equal(ops->read(a, T0 + NS_PER_S, &reading), -ETIMEDOUT);
	assert_int_equal(ops->read(a, T0 + NS_PER_S + 1, &reading), -ETIMEDOUT);
	assert_int_equal(ops->write_cap(a, T0 + NS_PER_S + 2, 20), -ETIMEDOUT);
	assert_int_equal(arbiter.requests, 1);
	assert_int_equal(starts(), before);
	arbiter.mute = false;
	assert_int_equal(read_at(a, T0 + 2 * NS_PER_S).cap_pct, 30);
	ops->detach(a);
}

TEST(a_vgpu_ends_with_its_control_group)
{
	struct gpu_vgpu *a = make_vgpu("a", 30), *b = make_vgpu("b", 30);
	struct gpu_reading reading;
	int cap_pct;

	assert_int_equal(ops->destroy(gpu, "a", &err), 0);
	assert_int_equal(ops->read(a, T0 + NS_PER_S, &reading), -ENODEV);
	assert_int_equal(ops->write_cap(a, T0 + NS_PER_S, 20), -ENODEV);
	assert_int_equal(ops->read_cap(a, &cap_pct), -ENODEV);
	(void)read_at(b, T0 + NS_PER_S);
	assert_null(tenant_of("a"));
	ops->detach(b);
	ops->detach(a);
	assert_int_equal(ops->attach(gpu, "a", T0, &a, &err), -ENOENT);
}

TEST(a_control_group_that_is_created_again_is_another_vgpu)
{
	struct gpu_vgpu *was = make_vgpu("a", 30), *is;
	struct gpu_reading reading;
	int cap_pct;

	assert_int_equal(ops->destroy(gpu, "a", &err), 0);
	is = make_vgpu("a", 40);
	assert_int_equal(ops->read(was, T0 + NS_PER_S, &reading), -ENODEV);
	assert_int_equal(ops->write_cap(was, T0 + NS_PER_S, 20), -ENODEV);
	assert_int_equal(ops->read_cap(was, &cap_pct), -ENODEV);
	assert_int_equal(read_at(is, T0 + NS_PER_S).cap_pct, 40);
	assert_true(ops->identity(is) != 0);
	assert_true(ops->identity(is) != ops->identity(was));
	ops->detach(was);
	ops->detach(is);
}

TEST(a_new_daemon_adopts_vgpus_and_removes_lost_tenants)
{
	struct gpu_vgpu *a = make_vgpu("a", 30);
	char lost[COMPUTE_ID_MAX];

	tenant_of("a")->busy_ns = 500;
	snprintf(lost, sizeof(lost), "/%.200s/gpu0/lost", config.root);
	add(lost, 5);
	ops->detach(a);
	ops->close(gpu);
	assert_int_equal(ops->open(&config, &gpu, &err), 0);
	assert_null(tenant_of("lost"));
	assert_int_equal(ops->attach(gpu, "a", T0, &a, &err), 0);
	assert_int_equal(read_at(a, T0 + NS_PER_S).cap_pct, 30);
	assert_int_equal(read_at(a, T0 + 2 * NS_PER_S).busy_ns, 500);
	ops->detach(a);
	/* lost while this daemon runs */
	add(lost, 5);
	assert_int_equal(ops->create(gpu, "lost", 45, &err), 0);
	assert_int_equal(tenant_of("lost")->cap_pct, 45);
}

TEST(memory_is_limited_also_by_another_arbiter)
{
	struct gpu_vgpu *a = make_vgpu("a", 30);
	struct gpu_reading reading;

	assert_int_equal(ops->memory.write(a, 4096), 0);
	assert_int_equal(tenant_of("a")->memory_max_bytes, 4096);
	tenant_of("a")->memory_bytes = 100;
	reading = read_at(a, T0 + NS_PER_S);
	assert_true(reading.memory_valid);
	assert_int_equal(reading.memory_bytes, 100);
	restart_arbiter();
	assert_int_equal(ops->write_cap(a, T0 + 2 * NS_PER_S, 20), 0);
	assert_int_equal(tenant_of("a")->memory_max_bytes, 4096);
	restart_arbiter();
	assert_int_equal(ops->memory.write(a, 0), 0);
	assert_true(tenant_of("a")->memory_max_bytes == COMPUTE_MEMORY_NO_LIMIT);
	assert_int_equal(tenant_of("a")->cap_pct, 20);
	assert_int_equal(ops->destroy(gpu, "a", &err), 0);
	assert_int_equal(ops->memory.write(a, 0), -ENODEV);
	ops->detach(a);
}

TEST(opening_sets_the_discipline)
{
	struct gpu_config other = config;

	assert_string_equal(arbiter.device.discipline, "fair");
	ops->close(gpu);
	strcpy(other.discipline, "cap");
	other.dry_run = true;
	assert_int_equal(ops->open(&other, &gpu, &err), 1);
	ops->close(gpu);
	assert_string_equal(arbiter.device.discipline, "fair");
	other.dry_run = false;
	assert_int_equal(ops->open(&other, &gpu, &err), 0);
	assert_string_equal(arbiter.device.discipline, "cap");
}

TEST(a_vgpu_that_the_arbiter_does_not_know_has_no_cap)
{
	struct gpu_vgpu *a;

	assert_int_equal(ops->create(gpu, "a", 30, &err), 0);
	restart_arbiter();
	assert_int_equal(ops->attach(gpu, "a", T0, &a, &err), 0);
	assert_int_equal(read_at(a, T0 + NS_PER_S).cap_pct, 0);
	ops->detach(a);
}

TEST(a_dry_run_starts_and_adds_nothing)
{
	struct gpu_config dry = config;
	struct gpu_reading reading;
	struct gpu *watched;
	struct gpu_vgpu *a;
	int before = starts();

	dry.dry_run = true;
	assert_int_equal(ops->create(gpu, "a", 30, &err), 0);
	ops->close(gpu); /* the fake arbiter accepts one connection at a time */
	err.msg[0] = '\0';
	assert_int_equal(ops->open(&dry, &watched, &err), 0);
	assert_string_equal(err.msg, "");
	assert_int_equal(ops->attach(watched, "a", T0, &a, &err), 0);
	assert_int_equal(read_at(a, T0).cap_pct, 30);
	ops->detach(a);
	ops->close(watched);

	stop_arbiter();
	assert_int_equal(ops->open(&dry, &watched, &err), 1);
	assert_non_null(strstr(err.msg, config.socket));
	assert_non_null(strstr(err.msg, "a dry run starts no arbiter"));
	assert_int_equal(ops->attach(watched, "a", T0, &a, &err), 0);
	assert_true(ops->read(a, T0, &reading) < 0);
	assert_int_equal(starts(), before);
	start_arbiter();
	assert_int_equal(ops->read(a, T0 + NS_PER_S, &reading), -ENODATA);
	assert_null(tenant_of("a"));
	ops->detach(a);
	ops->close(watched);
	assert_int_equal(ops->open(&config, &gpu, &err), 0);
}

TEST(a_wrong_configuration_is_rejected)
{
	struct gpu_config wrong = config;
	struct gpu *none;
	struct gpu_traits traits;

	memset(wrong.socket, 's', 100);
	wrong.socket[100] = '\0';
	assert_int_equal(ops->open(&wrong, &none, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "at most 99 characters"));
	wrong = config;
	strcpy(wrong.root, "a/../b");
	assert_int_equal(ops->open(&wrong, &none, &err), -EINVAL);
	ops->traits(gpu, &traits);
	assert_true(traits.creates && traits.counts_frames && traits.share == GPU_HARD_CAP);
	assert_int_equal(traits.step_pct, 1);
	assert_int_equal(traits.floor_pct, 1);
	assert_string_equal(traits.compute_socket, config.socket);
	assert_true(traits.unit == GPU_WORK && traits.limits_memory);
}

static bool has_groups(void)
{
	struct gpu_config soft = config;

	soft.capacity_cores = 0.1;
	if (gpu_softgpu_ops.open(&soft, &gpu, &err) < 0)
		return false;
	gpu_softgpu_ops.close(gpu);
	return true;
}

static int prepare(void)
{
	strcpy(config.name, "gpu0");
	strcpy(config.backend, "lib");
	strcpy(config.discipline, "fair");
	snprintf(config.root, sizeof(config.root), "gover-test-%d", (int)getpid());
	if (!has_groups())
		unit_skip_all("lib", err.msg);
	if (temp_folder_make() < 0 || make_program() < 0)
		return -1;
	snprintf(config.socket, sizeof(config.socket), "%s/s", temp_folder);
	return 0;
}

FIXTURE_ONCE(prepare, temp_folder_remove)
