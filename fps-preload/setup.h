/* SPDX-License-Identifier: MIT */
/* What the user asked of this program's preload, read once from the environment. */
#ifndef FPS_PRELOAD_SETUP_H
#define FPS_PRELOAD_SETUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct setup {
	struct sockaddr_un daemon; /* family AF_UNSPEC: no counting */
	uint64_t period_ns;	   /* of paced frames; 0: no pacing */
	bool gpu_time;		   /* measure it */
	bool debug;		   /* tell on stderr */
};

/*
 * GOVER_FPS (unset: the daemon's default socket; unix:PATH; anything else: off), GOVER_FPS_MAX,
 * GOVER_FPS_GPU_TIME and GOVER_FPS_DEBUG. All off in a program with more rights than its user.
 */
void setup_read(struct setup *ret_setup);

#endif
