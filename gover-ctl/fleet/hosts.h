/* SPDX-License-Identifier: MIT */
/*
 * The hosts that `fleet status` asks, from a comma-separated list of URLs or from a file. Each line
 * of the file is NAME ADDRESS [TOKEN-FILE]; the address is a URL or the path of a unix socket.
 */
#ifndef GOVER_CTL_FLEET_HOSTS_H
#define GOVER_CTL_FLEET_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "client/client.h"

#define HOSTS_MAX      10000
#define HOSTS_NAME_MAX 256 /* size of a name with its NUL */

struct fleet_host {
	char name[HOSTS_NAME_MAX]; /* unique */
	char address[CLIENT_PATH_MAX];
	char token_file[CLIENT_PATH_MAX]; /* "": the one of the command line */
};

struct fleet_hosts {
	struct fleet_host *hosts; /* in the given order */
	size_t n;
};

/*
 * Reads the hosts. @given is a list if it contains "://", else the path of a file. The caller frees
 * them with hosts_free(). Returns -EINVAL with a message, or another negative errno.
 */
int hosts_read(const char *given, struct fleet_hosts *ret_hosts, struct err *reterr);
void hosts_free(struct fleet_hosts *hosts);

/* Returns true if the address is the path of a unix socket. */
bool hosts_is_socket(const struct fleet_host *host);

#endif
