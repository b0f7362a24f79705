/* SPDX-License-Identifier: MIT */
/*
 * The configuration of gover-fleet, and functions to load, check and print it. fleet.conf(5)
 * describes each key. Secrets are not part of the configuration: only the path of their file is.
 */
#ifndef GOVER_FLEET_CONFIG_FLEET_CONFIG_H
#define GOVER_FLEET_CONFIG_FLEET_CONFIG_H

#include <stdbool.h>
#include <stdio.h>

#include "base/config/setting.h"
#include "base/err.h"

#define FLEET_CONFIG_PATH_DEFAULT "/etc/gover/fleet.conf"

#define FLEET_CONFIG_TEXT   161 /* size of a text with its NUL */
#define FLEET_CONFIG_WORD   32	/* size of a word with its NUL */
#define FLEET_CONFIG_SOCKET 108 /* size of the path of a socket with its NUL */

/* [cloud]; a text is "" if it is not set. */
struct fleet_config_cloud {
	char kind[FLEET_CONFIG_WORD]; /* "openstack" or "none"; default "none" */
	/* "password", "application_credential" or "none"; default "password" */
	char auth[FLEET_CONFIG_WORD];
	char auth_url[FLEET_CONFIG_TEXT], region[FLEET_CONFIG_TEXT];
	char username[FLEET_CONFIG_TEXT], user_domain[FLEET_CONFIG_TEXT];
	char project[FLEET_CONFIG_TEXT], project_domain[FLEET_CONFIG_TEXT];
	char application_credential_id[FLEET_CONFIG_TEXT];
	char secret_file[FLEET_CONFIG_TEXT]; /* a path, or the name of a systemd credential */
	char cacert[FLEET_CONFIG_TEXT];	     /* PEM file; "": the certificates of the system */
	/* with auth = none */
	char placement_url[FLEET_CONFIG_TEXT], compute_url[FLEET_CONFIG_TEXT];
};

struct fleet_config {
	/* [fleet] */
	char host[FLEET_CONFIG_TEXT]; /* name of the compute node; default: name of this host */
	char gover_socket[FLEET_CONFIG_SOCKET]; /* default /run/gover/gover.sock */
	char hook_socket[FLEET_CONFIG_SOCKET];	/* default /run/gover-fleet/hook.sock */
	int hook_timeout_s;			/* limit of an answer to the hook; default 5 */
	/* if the hook gets no answer: "open" starts the domain, "closed" refuses; default "open" */
	char on_failure[FLEET_CONFIG_WORD];
	int hold_s; /* how long an offer waits for the domain of an allocation; default 300 */
	char status_file[FLEET_CONFIG_TEXT]; /* default /run/gover-fleet/status.json */
	struct fleet_config_cloud cloud;
	/* [libvirt] */
	char uri[FLEET_CONFIG_TEXT]; /* "": no domains are watched; default: QEMU of the system */
	/* [migrate] */
	char migrate_by[FLEET_CONFIG_WORD]; /* none, advice, nova or libvirt; default "none" */
	char to_uri[FLEET_CONFIG_TEXT];	    /* with by = libvirt: URI of the other host */
};

void fleet_config_default(struct fleet_config *config);

/*
 * Reads @path. If @path is NULL, reads FLEET_CONFIG_PATH_DEFAULT, if that file exists. Then checks
 * the rules that concern several keys. Returns -EINVAL with "FILE:LINE: message" or "FILE:
 * message", or another negative errno; @config is then unchanged.
 */
int fleet_config_load(struct fleet_config *config, const char *path, struct err *reterr);

/* Prints the configuration in the syntax of fleet_config_load(). */
void fleet_config_print(const struct fleet_config *config, FILE *out);

bool fleet_config_fails_open(const struct fleet_config *config);
bool fleet_config_has_cloud(const struct fleet_config *config);

/*
 * Writes the path of the file with the secret: secret_file, or the systemd credential of this name
 * in $CREDENTIALS_DIRECTORY if it contains no '/'. Returns -ENOENT with a message if there is no
 * such folder.
 */
int fleet_config_secret_path(const struct fleet_config_cloud *cloud, char *ret_path, size_t size,
			     struct err *reterr);

#endif
