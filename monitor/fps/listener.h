/* SPDX-License-Identifier: MIT */
/* The unix socket on which programs hand over their pages: made, and taken away if it is ours. */
#ifndef MONITOR_FPS_LISTENER_H
#define MONITOR_FPS_LISTENER_H

#include <sys/types.h>

#include "base/err.h"

struct fps_listener {
	int fd; /* listens; -1: shut */
	dev_t dev;
	ino_t ino; /* of our socket, so that only ours is unlinked; 0: none was made */
};

#define FPS_LISTENER_CLOSED ((struct fps_listener){.fd = -1})

/* @path fits a sockaddr_un. What was made of it before an error stands in @ret_listener too, for
 * fps_listener_close(). */
int fps_listener_open(const char *path, struct fps_listener *ret_listener, struct err *reterr);

void fps_listener_close(struct fps_listener *listener, const char *path);

#endif
