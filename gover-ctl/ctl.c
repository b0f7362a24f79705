/* SPDX-License-Identifier: MIT */
/*
 * Functions that verbs share: errors on standard error, and requests to the daemon.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "base/parse.h"
#include "gover-ctl/ctl.h"

enum ctl_exit ctl_fail(enum ctl_exit code, const char *format, ...)
{
	char text[2 * ERR_MSG_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	writer_mask_controls(text);
	fflush(stdout);
	fprintf(stderr, "gover-ctl: %s\n", text);
	return code;
}

enum ctl_exit ctl_fail_memory(void)
{
	return ctl_fail(CTL_FAILED, "out of memory");
}

enum ctl_exit ctl_parse_number(const char *what, const char *word, long long *ret_number)
{
	int64_t number;

	if (parse_int(word, 1, INT64_MAX, &number) < 0)
		return ctl_fail(CTL_USAGE, "%s '%s': not a number", what, word);
	*ret_number = number;
	return CTL_DONE;
}

enum ctl_exit ctl_check_id(const char *what, const char *id)
{
	if (id_valid(id))
		return CTL_DONE;
	return ctl_fail(CTL_USAGE,
			"%s '%s': not allowed (allowed: 1 to %d characters of A-Z a-z 0-9 . _ -, "
			"not beginning with . or -)",
			what, id, ID_MAX - 1);
}

int ctl_open_client(struct ctl *ctl, struct err *reterr)
{
	const char *from_env = getenv("GOVER_SOCKET");
	const char *path = ctl->socket ? ctl->socket : from_env ? from_env : CLIENT_SOCKET_DEFAULT;

	const char *token_file = ctl->token_file ? ctl->token_file : getenv("GOVER_TOKEN_FILE");
	const char *cacert = ctl->cacert ? ctl->cacert : getenv("GOVER_CACERT");
	int r;

	if (ctl->client)
		return 0;
	r = client_new(path, ctl->url, &ctl->client, reterr);
	if (r >= 0 && cacert)
		r = client_load_cacert(ctl->client, cacert, reterr);
	if (r >= 0 && token_file)
		r = client_load_token(ctl->client, token_file, reterr);
	if (r < 0)
		ctl->client = client_free(ctl->client);
	return r;
}

int ctl_try_request(struct ctl *ctl, const struct client_call *call, struct reply *ret_reply,
		    struct err *reterr)
{
	int r = ctl_open_client(ctl, reterr);

	return r < 0 ? r : client_request(ctl->client, call, ret_reply, reterr);
}

enum ctl_exit ctl_exit_code(int result)
{
	switch (result) {
	case 0:
		return CTL_DONE;
	case -EINVAL:
		return CTL_USAGE;
	case -ENOTCONN:
	case -ECONNRESET:
		return CTL_UNREACHABLE;
	default:
		return CTL_FAILED;
	}
}

enum ctl_exit ctl_request(struct ctl *ctl, const char *method, const json_t *body,
			  struct reply *ret_reply, const char *path_format, ...)
{
	char path[CLIENT_PATH_MAX];
	struct client_call call = {.method = method, .path = path, .body = body};
	struct err err;
	va_list ap;
	int r;

	va_start(ap, path_format);
	r = vsnprintf(path, sizeof(path), path_format, ap);
	va_end(ap);
	if (r < 0 || (size_t)r >= sizeof(path))
		return ctl_fail(CTL_FAILED, "%s %.40s...: request too long", method, path);
	r = ctl_try_request(ctl, &call, ret_reply, &err);
	return r == 0 ? CTL_DONE : ctl_fail(ctl_exit_code(r), "%s", err.msg);
}
