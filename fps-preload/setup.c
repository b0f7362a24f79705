/* SPDX-License-Identifier: MIT */
/* Reads the environment. Invalid values are ignored. */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "fps-preload/limit.h"
#include "fps-preload/setup.h"
#include "fps-preload/wire.h"

static void read_unix(const char *path, struct setup *setup)
{
	size_t length = strlen(path);

	if (length == 0 || length >= sizeof(setup->daemon.sun_path))
		return;
	setup->transport = SETUP_UNIX;
	setup->daemon.sun_family = AF_UNIX;
	memcpy(setup->daemon.sun_path, path, length + 1);
}

/* Reads a CID or port in decimal, followed by the character @end. */
static bool read_u32(const char *text, char end, const char **ret_after, uint32_t *ret_number)
{
	uint64_t number = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9' && number <= UINT32_MAX; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	/* UINT32_MAX is the wildcard VMADDR_CID_ANY or VMADDR_PORT_ANY. */
	if (at == text || *at != end || number >= UINT32_MAX)
		return false;
	*ret_after = at + 1;
	*ret_number = (uint32_t)number;
	return true;
}

static void read_vsock(const char *address, struct setup *setup)
{
	uint32_t cid, port;

	if (!read_u32(address, ':', &address, &cid) || !read_u32(address, '\0', &address, &port))
		return;
	setup->transport = SETUP_VSOCK;
	setup->host =
		(struct sockaddr_vm){.svm_family = AF_VSOCK, .svm_cid = cid, .svm_port = port};
}

static void read_port(const char *name, struct setup *setup)
{
	size_t length = strlen(name);

	if (length == 0 || length >= sizeof(setup->port) || strchr(name, '/') || name[0] == '.')
		return;
	setup->transport = SETUP_PORT;
	memcpy(setup->port, name, length + 1);
}

static const struct {
	const char *prefix;
	void (*read)(const char *text, struct setup *setup);
} transports[] = {
	{"unix:", read_unix},
	{"vsock:", read_vsock},
	{"port:", read_port},
};

void setup_read(struct setup *ret_setup)
{
	struct setup setup = {.transport = SETUP_OFF};
	const char *where = getenv("GOVER_FPS");
	const char *fps_max = getenv("GOVER_FPS_MAX");
	const char *gpu_time = getenv("GOVER_FPS_GPU_TIME");
	const char *debug = getenv("GOVER_FPS_DEBUG");

	*ret_setup = setup;
	if (getauxval(AT_SECURE))
		return;
	if (!where)
		where = "unix:" FPS_DEFAULT_SOCKET;
	for (size_t i = 0; i < sizeof(transports) / sizeof(transports[0]); i++)
		if (strncmp(where, transports[i].prefix, strlen(transports[i].prefix)) == 0)
			transports[i].read(where + strlen(transports[i].prefix), &setup);
	if (setup.transport == SETUP_OFF && strcmp(where, "off") != 0)
		setup.invalid_fps = where;
	/* An invalid rate is ignored: period_ns stays 0, which means no pacing. */
	if (fps_max && pace_parse(fps_max, &setup.period_ns) < 0)
		setup.invalid_fps_max = fps_max;
	setup.gpu_time = gpu_time && strcmp(gpu_time, "1") == 0;
	setup.debug = debug && strcmp(debug, "1") == 0;
	*ret_setup = setup;
}
