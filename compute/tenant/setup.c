/* SPDX-License-Identifier: MIT */
/* Reads the environment. Invalid values turn the layer off. */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>

#include "compute/channel/wire.h"
#include "compute/tenant/setup.h"

/* GOVER_CL_SLICE */
static void read_slice(struct tenant_setup *setup)
{
	const char *text = getenv("GOVER_CL_SLICE");
	unsigned int parts = 0;

	setup->slice = !text;
	for (; text && *text >= '0' && *text <= '9' && parts <= TENANT_SLICE_PARTS_MAX; text++)
		parts = parts * 10 + (unsigned int)(*text - '0');
	if (!text || *text != '\0' || parts < 2 || parts > TENANT_SLICE_PARTS_MAX)
		return;
	setup->slice = true;
	setup->slice_parts = parts;
}

void tenant_setup_read(struct tenant_setup *ret_setup)
{
	const char *where = getenv("GOVER_CL"), *debug = getenv("GOVER_CL_DEBUG");
	size_t length;

	*ret_setup = (struct tenant_setup){.off = true, .arbiter.sun_family = AF_UNIX};
	if (getauxval(AT_SECURE))
		return;
	ret_setup->debug = debug && strcmp(debug, "1") == 0;
	read_slice(ret_setup);
	if (!where)
		where = "unix:" COMPUTE_DEFAULT_SOCKET;
	if (strncmp(where, "unix:", 5) != 0)
		return;
	length = strlen(where + 5);
	if (length == 0 || length >= sizeof(ret_setup->arbiter.sun_path))
		return;
	memcpy(ret_setup->arbiter.sun_path, where + 5, length + 1);
	ret_setup->off = false;
}
