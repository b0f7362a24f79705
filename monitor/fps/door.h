/* SPDX-License-Identifier: MIT */
/* The unix socket on which programs hand over their pages: made, and taken away if it is ours. */
#ifndef MONITOR_FPS_DOOR_H
#define MONITOR_FPS_DOOR_H

#include <sys/types.h>

#include "base/err.h"

struct fps_door {
	int fd; /* listens; -1: shut */
	dev_t dev;
	ino_t ino; /* of our socket, so that only ours is unlinked; 0: none was made */
};

#define FPS_DOOR_SHUT ((struct fps_door){.fd = -1})

/* @path fits a sockaddr_un. What was made of it before an error stands in @ret_door too, for
 * fps_door_close(). */
int fps_door_open(const char *path, struct fps_door *ret_door, struct err *reterr);

void fps_door_close(struct fps_door *door, const char *path);

#endif
