/* SPDX-License-Identifier: MIT */
/* Reads the environment. Must never change it, and never take a value it does not fully understand.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "fps-preload/pace.h"
#include "fps-preload/setup.h"
#include "fps-preload/wire.h"

#define UNIX_PREFIX "unix:"

void setup_read(struct setup *ret_setup)
{
	struct setup setup = {.daemon.sun_family = AF_UNSPEC};
	const char *where = getenv("GOVER_FPS");
	const char *fps_max = getenv("GOVER_FPS_MAX");
	const char *gpu_time = getenv("GOVER_FPS_GPU_TIME");
	const char *debug = getenv("GOVER_FPS_DEBUG");

	*ret_setup = setup;
	if (getauxval(AT_SECURE))
		return;
	if (!where)
		where = UNIX_PREFIX FPS_DEFAULT_SOCKET;
	if (strncmp(where, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0) {
		const char *path = where + strlen(UNIX_PREFIX);
		size_t length = strlen(path);

		if (length > 0 && length < sizeof(setup.daemon.sun_path)) {
			setup.daemon.sun_family = AF_UNIX;
			memcpy(setup.daemon.sun_path, path, length + 1);
		}
	}
	if (fps_max)
		(void)pace_parse(fps_max, &setup.period_ns); /* not understood: not paced */
	setup.gpu_time = gpu_time && strcmp(gpu_time, "1") == 0;
	setup.debug = debug && strcmp(debug, "1") == 0;
	*ret_setup = setup;
}
