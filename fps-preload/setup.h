/* SPDX-License-Identifier: MIT */
/* The settings of the library in this program, read once from the environment. */
#ifndef FPS_PRELOAD_SETUP_H
#define FPS_PRELOAD_SETUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <linux/vm_sockets.h>

#define SETUP_PORT_MAX 64 /* maximum bytes of a port name, including the NUL */

enum setup_transport { SETUP_OFF, SETUP_UNIX, SETUP_VSOCK, SETUP_PORT };

struct setup {
	enum setup_transport transport; /* SETUP_OFF: frames are not counted */
	struct sockaddr_un daemon;	/* SETUP_UNIX */
	struct sockaddr_vm host;	/* SETUP_VSOCK */
	char port[SETUP_PORT_MAX];	/* SETUP_PORT: name of the virtio-serial port */
	uint64_t period_ns;		/* minimum time of a frame; 0: no pacing */
	bool gpu_time;			/* measure GPU time */
	bool debug;			/* print debug lines */
	/* values that were ignored because they are invalid, for a debug line; NULL: none */
	const char *invalid_fps, *invalid_fps_max;
};

/*
 * Reads GOVER_FPS, GOVER_FPS_MAX, GOVER_FPS_GPU_TIME and GOVER_FPS_DEBUG. GOVER_FPS is unix:PATH,
 * vsock:CID:PORT or port:NAME. If it is unset, the default socket of the daemon is used. Any other
 * value turns counting off. Everything is off in a setuid, setgid or otherwise privileged program.
 */
void setup_read(struct setup *ret_setup);

#endif
