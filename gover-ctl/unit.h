/* SPDX-License-Identifier: MIT */
/*
 * The unit gover-d.service, as systemd describes it over D-Bus, and the command line of the running
 * daemon. Read-only; needs no root.
 */
#ifndef GOVER_CTL_UNIT_H
#define GOVER_CTL_UNIT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define UNIT_NAME      "gover-d.service"
#define UNIT_STATE_MAX 32
#define UNIT_USER_MAX  64
#define UNIT_WORDS_MAX 64

struct unit {
	bool known;  /* systemd has answered */
	bool loaded; /* the unit is installed */
	/* as `systemctl show` prints them: "active", "running", "success" */
	char active[UNIT_STATE_MAX], sub[UNIT_STATE_MAX], result[UNIT_STATE_MAX];
	char enabled[UNIT_STATE_MAX]; /* UnitFileState: "enabled", "masked" */
	char user[UNIT_USER_MAX];     /* User=; "": root */
	bool protects_cgroups;	      /* ProtectControlGroups= */
	pid_t pid;		      /* of the daemon; 0: it does not run */
	char config[PATH_MAX];	      /* --config of the command line; "": the default file */
};

/* Asks systemd. unit->known is false if systemd does not run here or does not answer. */
void unit_read(struct unit *ret_unit);

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

#endif
