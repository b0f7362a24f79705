/* SPDX-License-Identifier: MIT */
/* The installation of gover-d on this host: unit, process and configuration file. Read-only. */
#ifndef GOVER_CTL_INSTALLATION_H
#define GOVER_CTL_INSTALLATION_H

#include <jansson.h>
#include <stdint.h>

#include "gover-ctl/unit.h"
#include "gover-d/config/config-path.h"

enum installation_source {
	INSTALLATION_DEFAULT, /* neither a unit nor a running daemon was found */
	INSTALLATION_UNIT,    /* the unit of this host */
	INSTALLATION_PROCESS, /* a running daemon that was not started by the unit */
};

struct installation {
	struct unit unit;
	pid_t pid;	    /* of the running daemon; 0: unknown */
	int64_t started_ms; /* Unix time of the start of this process; 0: unknown */
	enum installation_source source;
	char config[PATH_MAX]; /* configuration file of @source; "": the default file */
	/* The unit was changed: the running daemon has another configuration file, @running. */
	bool config_differs;
	char running[PATH_MAX];
};

/*
 * Examines this host. @host is the reply of the daemon on the unix socket to GET /v1/host; NULL: no
 * reply.
 */
void installation_examine(const json_t *host, struct installation *ret_installation);

/* Returns the path of the configuration file. */
const char *installation_config(const struct installation *installation);

#endif
