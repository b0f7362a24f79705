/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for gover-arbiter: a thread that answers the control protocol from a table of tenants.
 * Its socket is FOLDER/s.control.
 */
#ifndef TESTS_UNIT_GPU_TEST_GPU_LIB_H
#define TESTS_UNIT_GPU_TEST_GPU_LIB_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "compute/channel/control.h"
#include "gpu/gpu.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/gover-gpu-lib.XXXXXX";
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
	snprintf(address->sun_path, sizeof(address->sun_path), "%s/s.control", folder);
}

/* Starts the stand-in. It has one tenant, number 0. */
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

#endif
