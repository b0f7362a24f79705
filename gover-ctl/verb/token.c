/* SPDX-License-Identifier: MIT */
/*
 * The verbs `token list`, `token add` and `token remove`. A new token is written only to standard
 * output or to the file of --out.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "gover-ctl/shared/tables.h"
#include "gover-ctl/shared/time-arg.h"
#include "gover-ctl/verb/token.h"

enum ctl_exit verb_token_list(struct ctl *ctl, const struct args *args)
{
	return listing_run(ctl, args, &table_tokens, "/v1/tokens");
}

/* Returns the body of the request. On failure prints an error, sets *ret_exit and returns NULL. */
static json_t *make_body(const struct args *args, enum ctl_exit *ret_exit)
{
	const char *expires = args->values[OPTION_EXPIRES];
	int64_t ttl_s = 0;
	json_t *body;

	if (expires && time_arg_parse_span(expires, &ttl_s) < 0) {
		*ret_exit =
			ctl_fail(CTL_USAGE,
				 "--expires '%s': not allowed (allowed: seconds, or 30m, 12h, 90d)",
				 expires);
		return NULL;
	}
	body = json_pack("{s:s, s:s}", "name", args->words[0], "scope", args->values[OPTION_SCOPE]);
	if (expires)
		(void)json_object_set_new(body, "ttl_s", json_integer(ttl_s));
	return body;
}

/*
 * Creates the file of --out. Called before the token is created, because a token that cannot be
 * written is lost.
 */
static int open_file(const char *path, enum ctl_exit *ret_exit)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		*ret_exit = ctl_fail(CTL_FAILED, "--out '%s': %s", path, strerror(errno));
	return fd;
}

static enum ctl_exit write_file(int fd, const char *path, const char *token)
{
	size_t length = strlen(token);

	if (write(fd, token, length) != (ssize_t)length || write(fd, "\n", 1) != 1)
		return ctl_fail(CTL_FAILED, "--out '%s': %s; remove the token and create it again",
				path, strerror(errno));
	return CTL_DONE;
}

static enum ctl_exit print_token(struct ctl *ctl, const struct args *args,
				 const struct reply *reply, int fd)
{
	const char *path = args->values[OPTION_TOKEN_OUT];
	const char *token = field_text(reply->json, "token");

	if (path) {
		enum ctl_exit r = write_file(fd, path, token);

		if (r != CTL_DONE)
			return r;
		(void)json_object_del(reply->json, "token");
		if (ctl->writer.json)
			writer_json(&ctl->writer, reply->json);
		else
			writer_line(&ctl->writer, "created: token %s, in %s", args->words[0], path);
	} else if (ctl->writer.json) {
		writer_reply(&ctl->writer, reply);
	} else {
		writer_line(&ctl->writer, "%s", token);
	}
	return CTL_DONE;
}

enum ctl_exit verb_token_add(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	const char *path = args->values[OPTION_TOKEN_OUT];
	CLEANUP_CLOSE int fd = -1;
	enum ctl_exit r = ctl_check_id("token", args->words[0]);
	json_t *body;

	if (r != CTL_DONE)
		return r;
	body = make_body(args, &r);
	if (!body)
		return r;
	if (path)
		fd = open_file(path, &r);
	if (r == CTL_DONE)
		r = ctl_request(ctl, "POST", body, &reply, "/v1/tokens");
	json_decref(body);
	if (r == CTL_DONE)
		return print_token(ctl, args, &reply, fd);
	if (fd >= 0)
		(void)unlink(path);
	return r;
}

enum ctl_exit verb_token_remove(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	const char *name = args->words[0];
	enum ctl_exit r = ctl_check_id("token", name);

	if (r == CTL_DONE)
		r = ctl_request(ctl, "DELETE", NULL, &reply, "/v1/tokens/%s", name);
	if (r != CTL_DONE)
		return r;
	if (!ctl->writer.json)
		writer_line(&ctl->writer, "removed: token %s", name);
	return CTL_DONE;
}
