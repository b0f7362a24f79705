/* SPDX-License-Identifier: MIT */
/* The verb `fleet status`: one line for each host. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json-text.h"
#include "gover-ctl/fleet/gather.h"
#include "gover-ctl/fleet/row.h"
#include "gover-ctl/verb/listing.h"
#include "gover-ctl/verb/verbs.h"

#define LIMIT_S	      5
#define TOKEN_MAX     4096
#define NOAUTH2_TOKEN "admin" /* Placement accepts it with auth_strategy = noauth2 */

/* Reads the token for Placement, one line. The caller frees it. */
static enum ctl_exit read_token(const char *path, char **ret_token)
{
	int r;

	if (!path) {
		*ret_token = strdup(NOAUTH2_TOKEN);
		return *ret_token ? CTL_DONE : ctl_fail_memory();
	}
	r = file_read(path, TOKEN_MAX, ret_token, NULL);
	if (r < 0)
		return ctl_fail(CTL_USAGE, "--placement-token-file '%s': %s", path, strerror(-r));
	(*ret_token)[strcspn(*ret_token, "\r\n")] = '\0';
	return CTL_DONE;
}

static enum ctl_exit print_rows(const struct ctl *ctl, const struct listing *listing, json_t *rows)
{
	CLEANUP_REPLY struct reply reply = {.status = 200, .json = json_incref(rows)};

	reply.text = json_text_print(rows, JSON_COMPACT | JSON_REAL_PRECISION(15));
	if (!reply.text)
		return ctl_fail_memory();
	reply.length = strlen(reply.text);
	return listing_print(listing, &ctl->writer, &reply);
}

static enum ctl_exit show(const struct ctl *ctl, const struct args *args,
			  const struct listing *listing, const struct fleet_hosts *hosts)
{
	const char *limit = args->values[OPTION_TIMEOUT];
	CLEANUP_FREE char *token = NULL;
	struct gather_options options = {
		.files = ctl_files(ctl),
		.limit_ms =
			(long)(1000 * (limit ? args_get_number(args, OPTION_TIMEOUT) : LIMIT_S)),
		.placement = args->values[OPTION_PLACEMENT],
	};
	size_t problems = 0;
	enum ctl_exit r = read_token(args->values[OPTION_PLACEMENT_TOKEN], &token);
	json_t *rows;

	if (r != CTL_DONE)
		return r;
	options.placement_token = token;
	rows = gather_rows(hosts, &options, &problems);
	explicit_bzero(token, strlen(token));
	r = rows ? print_rows(ctl, listing, rows) : ctl_fail_memory();
	json_decref(rows);
	return r == CTL_DONE && problems > 0 ? CTL_FAILED : r;
}

enum ctl_exit verb_fleet_status(struct ctl *ctl, const struct args *args)
{
	struct fleet_hosts hosts;
	struct listing listing;
	struct err err;
	enum ctl_exit r = listing_open(&listing, args, &table_fleet);

	if (r != CTL_DONE)
		return r;
	if (hosts_read(args->values[OPTION_HOSTS], &hosts, &err) < 0)
		return ctl_fail(CTL_USAGE, "%s", err.msg);
	r = show(ctl, args, &listing, &hosts);
	hosts_free(&hosts);
	return r;
}
