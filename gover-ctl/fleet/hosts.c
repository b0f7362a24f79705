/* SPDX-License-Identifier: MIT */
/* Parses the list and the file. A line of the file that is empty or begins with # has no host. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-ctl/fleet/hosts.h"

#define FILE_MAX_BYTES (4 << 20)

bool hosts_is_socket(const struct fleet_host *host)
{
	return host->address[0] == '/';
}

void hosts_free(struct fleet_hosts *hosts)
{
	free(hosts->hosts);
	*hosts = (struct fleet_hosts){0};
}

static int copy_word(char *ret_text, size_t size, const char *word, const char *what,
		     struct err *reterr)
{
	if (strlen(word) >= size)
		return err_fail(reterr, EINVAL, "%s '%.40s...': too long (limit %zu characters)",
				what, word, size - 1);
	strcpy(ret_text, word);
	return 0;
}

static int check_address(const struct fleet_host *host, struct err *reterr)
{
	if (hosts_is_socket(host) || strncmp(host->address, "http://", 7) == 0 ||
	    strncmp(host->address, "https://", 8) == 0)
		return 0;
	return err_fail(reterr, EINVAL,
			"'%s': not an address (allowed: a URL, or the path of a unix socket)",
			host->address);
}

/* Appends @host. Its name must be new. */
static int add_host(struct fleet_hosts *hosts, const struct fleet_host *host, struct err *reterr)
{
	struct fleet_host *grown;
	int r = check_address(host, reterr);

	if (r < 0)
		return r;
	for (size_t i = 0; i < hosts->n; i++)
		if (strcmp(hosts->hosts[i].name, host->name) == 0)
			return err_fail(reterr, EINVAL, "host %s: given twice", host->name);
	if (hosts->n == HOSTS_MAX)
		return err_fail(reterr, EINVAL, "too many hosts (limit %d)", HOSTS_MAX);
	if ((hosts->n & (hosts->n - 1)) == 0) { /* 0 or a power of two: the array is full */
		size_t size = hosts->n ? 2 * hosts->n : 1;

		grown = reallocarray(hosts->hosts, size, sizeof(*grown));
		if (!grown)
			return err_fail(reterr, ENOMEM, "out of memory");
		hosts->hosts = grown;
	}
	hosts->hosts[hosts->n++] = *host;
	return 0;
}

/* The name of a host in a list is the host and the port of its URL. */
static int name_by_url(struct fleet_host *host, struct err *reterr)
{
	const char *begin = strstr(host->address, "://");
	char name[CLIENT_PATH_MAX];

	begin = begin ? begin + 3 : host->address;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(begin, "/?#"), begin);
	return copy_word(host->name, sizeof(host->name), name, "host", reterr);
}

static int read_list(const char *given, struct fleet_hosts *hosts, struct err *reterr)
{
	CLEANUP_FREE char *text = strdup(given);
	char *rest = text, *word;
	int r = 0;

	if (!text)
		return err_fail(reterr, ENOMEM, "out of memory");
	while (r == 0 && (word = strsep(&rest, ","))) {
		struct fleet_host host = {0};

		r = copy_word(host.address, sizeof(host.address), word, "URL", reterr);
		if (r == 0)
			r = name_by_url(&host, reterr);
		if (r == 0)
			r = add_host(hosts, &host, reterr);
	}
	return r;
}

static int read_line(char *line, struct fleet_hosts *hosts, struct err *reterr)
{
	static const char blanks[] = " \t\r";
	struct fleet_host host = {0};
	char *state = NULL;
	const char *name = strtok_r(line, blanks, &state);
	const char *address = strtok_r(NULL, blanks, &state);
	const char *token_file = strtok_r(NULL, blanks, &state);
	int r;

	if (!name || name[0] == '#')
		return 0;
	if (!address || strtok_r(NULL, blanks, &state))
		return err_fail(reterr, EINVAL, "not a host (allowed: NAME ADDRESS [TOKEN-FILE])");
	r = copy_word(host.name, sizeof(host.name), name, "name", reterr);
	if (r == 0)
		r = copy_word(host.address, sizeof(host.address), address, "address", reterr);
	if (r == 0 && token_file)
		r = copy_word(host.token_file, sizeof(host.token_file), token_file, "token file",
			      reterr);
	return r == 0 ? add_host(hosts, &host, reterr) : r;
}

static int read_file(const char *path, struct fleet_hosts *hosts, struct err *reterr)
{
	CLEANUP_FREE char *text = NULL;
	int number = 0, r = file_read(path, FILE_MAX_BYTES, &text, NULL);
	char *rest = text, *line;
	struct err err;

	if (r < 0)
		return err_fail(reterr, EINVAL, "--hosts '%s': %s", path, strerror(-r));
	while (r == 0 && (line = strsep(&rest, "\n"))) {
		number++;
		r = read_line(line, hosts, &err);
	}
	if (r < 0)
		return err_fail(reterr, -r, "%s:%d: %s", path, number, err.msg);
	if (hosts->n == 0)
		return err_fail(reterr, EINVAL, "%s: no hosts", path);
	return 0;
}

int hosts_read(const char *given, struct fleet_hosts *ret_hosts, struct err *reterr)
{
	struct fleet_hosts hosts = {0};
	int r = strstr(given, "://") ? read_list(given, &hosts, reterr)
				     : read_file(given, &hosts, reterr);

	if (r < 0) {
		hosts_free(&hosts);
		return r;
	}
	*ret_hosts = hosts;
	return 0;
}
