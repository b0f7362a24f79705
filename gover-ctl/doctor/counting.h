/* SPDX-License-Identifier: MIT */
/*
 * `doctor --pid`: why the frames of a running program are counted or not. counting-facts.c reads
 * /proc, and counting.c judges what was read.
 */
#ifndef GOVER_CTL_DOCTOR_COUNTING_H
#define GOVER_CTL_DOCTOR_COUNTING_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/finding.h"

enum counting_vgpu { COUNTING_VGPU_UNKNOWN, COUNTING_VGPU_NONE, COUNTING_VGPU_FOUND };

/* What /proc shows of a program. A text is "" if it does not apply. */
struct counting_facts {
	pid_t pid;
	char name[64];
	char group[256];	/* its control group */
	bool privileged;	/* more privileges than its user */
	bool dynamic;		/* has a dynamic loader */
	bool narrow;		/* 32 bits */
	char preload[PATH_MAX]; /* libgover-fps.so as in LD_PRELOAD */
	bool preload_exists;	/* the program sees this file */
	char earlier[PATH_MAX]; /* library before it in LD_PRELOAD that names functions of GL */
	bool loaded;		/* libgover-fps.so or the Vulkan layer is loaded */
	bool uses_gpu;		/* a library of OpenGL, EGL or Vulkan is loaded */
	char fps[PATH_MAX];	/* GOVER_FPS */
	char socket[PATH_MAX];	/* path of the daemon's socket; "": another transport, or none */
	bool socket_exists;	/* the program sees this socket */
	bool filtered;		/* a seccomp filter is in force */
	bool trusts_filter;	/* GOVER_SANDBOX=errno */
	bool out_of_files;	/* has as many open files as its limit allows */
	bool counted;		/* has a page of counters: the library has counted a frame */
	bool connected;		/* has a connection of the kind that the library uses */
	enum counting_vgpu vgpu;
};

/*
 * Reads the facts of process @pid. @vgpus: reply to GET /v1/vgpus; NULL: none. Returns -ESRCH or
 * -EACCES.
 */
int counting_read(pid_t pid, const json_t *vgpus, struct counting_facts *ret_facts,
		  struct err *reterr);

/* Returns the name of the cause for JSON, and what to print about it. Pure. */
const char *counting_judge(const struct counting_facts *facts, struct finding *ret_finding);

#endif
