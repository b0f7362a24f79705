/* SPDX-License-Identifier: MIT */
/* What the user asked of this program's preload, read once from the environment. */
#ifndef FPS_PRELOAD_SETUP_H
#define FPS_PRELOAD_SETUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <linux/vm_sockets.h>

#define SETUP_PORT_MAX 64 /* with its NUL */

enum setup_transport { SETUP_OFF, SETUP_UNIX, SETUP_VSOCK, SETUP_PORT };

struct setup {
	enum setup_transport transport; /* SETUP_OFF: no counting */
	struct sockaddr_un daemon;	/* of SETUP_UNIX */
	struct sockaddr_vm host;	/* of SETUP_VSOCK */
	char port[SETUP_PORT_MAX];	/* of SETUP_PORT: the name of a virtio-serial port */
	uint64_t period_ns;		/* of paced frames; 0: no pacing */
	bool gpu_time;			/* measure it */
	bool debug;			/* tell on stderr */
};

/*
 * GOVER_FPS (unset: the daemon's default socket; unix:PATH; vsock:CID:PORT; port:NAME; anything
 * else: off), GOVER_FPS_MAX, GOVER_FPS_GPU_TIME and GOVER_FPS_DEBUG. All off in a program with more
 * rights than its user.
 */
void setup_read(struct setup *ret_setup);

#endif
