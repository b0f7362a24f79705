/* SPDX-License-Identifier: MIT */
/*
 * The installation of gover-d on this host: the unit gover-d.service, as systemd describes it over
 * D-Bus, the running daemon, and its configuration file. Read-only; needs no root.
 */
#ifndef GOVER_CTL_SHARED_UNIT_H
#define GOVER_CTL_SHARED_UNIT_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gover-d/config/config-path.h"

#define UNIT_NAME      "gover-d.service"
#define UNIT_STATE_MAX 32
#define UNIT_USER_MAX  64
#define UNIT_WORDS_MAX 64

struct unit {
	bool known;  /* systemd runs here and has answered */
	bool loaded; /* the unit is installed */
	/* as `systemctl show` prints them: "active", "running", "success" */
	char active[UNIT_STATE_MAX], sub[UNIT_STATE_MAX], result[UNIT_STATE_MAX];
	char enabled[UNIT_STATE_MAX]; /* UnitFileState: "enabled", "masked" */
	char user[UNIT_USER_MAX];     /* User=; "": root */
	bool protects_cgroups;	      /* ProtectControlGroups= */
	pid_t pid;		      /* of the daemon; 0: it does not run */
	char config[PATH_MAX];	      /* --config of the command line; "": the default file */
};

/*
 * Finds the configuration file in the command line of process @pid. Returns 0 with "" for the
 * default file, -ESRCH if the process is not gover-d, or another negative errno.
 */
int unit_config_of_pid(pid_t pid, char ret_path[PATH_MAX]);

/*
 * Finds the value of --config in the words of a command line; the last one counts. A word "$NAME"
 * is replaced by the words of the variable NAME in @environment, a list of "NAME=VALUE" that ends
 * with NULL. Writes "" if there is none.
 */
void unit_find_config(const char *const *words, size_t n, const char *const *environment,
		      char ret_path[PATH_MAX]);

enum installation_source {
	INSTALLATION_DEFAULT, /* neither a unit nor a running daemon was found */
	INSTALLATION_UNIT,    /* the unit of this host */
	INSTALLATION_PROCESS, /* a running daemon that was not started by the unit */
};

struct installation {
	struct unit unit;
	pid_t pid;		    /* of the running daemon; 0: unknown */
	int64_t read_ms;	    /* Unix time when it read its configuration; 0: unknown */
	const json_t *restart_keys; /* borrowed from the reply of the daemon; NULL: unknown */
	enum installation_source source;
	char config[PATH_MAX]; /* configuration file of @source; "": the default file */
	/* The unit was changed: the running daemon has another configuration file, @running. */
	bool config_differs;
	char running[PATH_MAX];
};

/*
 * Examines this host. @host is the reply of the daemon on the unix socket to GET /v1/host; NULL: no
 * reply. The installation refers to @host.
 */
void installation_examine(const json_t *host, struct installation *ret_installation);

/* Returns the path of the configuration file. */
const char *installation_config(const struct installation *installation);

#endif
