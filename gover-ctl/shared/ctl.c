/* SPDX-License-Identifier: MIT */
/*
 * Functions that verbs share: errors on standard error, and requests to the daemon.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/parse.h"
#include "base/text.h"
#include "gover-ctl/shared/ctl.h"

static bool json_errors; /* set once at the start, when the command line is parsed */

void ctl_set_json_errors(bool json)
{
	json_errors = json;
}

bool ctl_has_json_errors(void)
{
	return json_errors;
}

/*
 * Prints {"error": {"message": ..., "exit_code": ..., "status": ...}}, with the members of the
 * problem document of the daemon.
 */
static void print_json_error(enum ctl_exit code, char *text, const struct reply *reply)
{
	json_t *message = json_string(text), *error, *line;
	CLEANUP_FREE char *printed = NULL;

	for (char *c = text; !message && *c; c++) /* the text contains a path that is not UTF-8 */
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	error = json_pack("{s:o, s:i, s:o}", "message", message ? message : json_string(text),
			  "exit_code", (int)code, "status",
			  reply && reply->status ? json_integer(reply->status) : json_null());
	if (reply && json_is_object(reply->json))
		(void)json_object_update_missing(error, reply->json);
	line = json_pack("{s:o}", "error", error);
	printed = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(15));
	fprintf(stderr, "%s\n", printed);
	json_decref(line);
}

static void print_error(enum ctl_exit code, char *text, const struct reply *reply)
{
	fflush(stdout);
	if (json_errors) {
		print_json_error(code, text, reply);
		return;
	}
	text_mask_controls(text);
	fprintf(stderr, "gover-ctl: %s\n", text);
}

enum ctl_exit ctl_fail(enum ctl_exit code, const char *format, ...)
{
	char text[2 * ERR_MSG_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	print_error(code, text, NULL);
	return code;
}

/* Returns the option of the verb that sets the field @name; NULL: there is none. */
static const char *option_of_field(const struct option_set *options, const char *name)
{
	static const struct {
		const char *field;
		enum option_id id;
	} others[] = {
		{"initial_cap_pct", OPTION_RUN_CAP},
		{"held_cap_pct", OPTION_HOLD_CAP},
		{"ttl_s", OPTION_EXPIRES},
	};
	const struct contract_field *field;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (options->has[others[i].id] && strcmp(others[i].field, name) == 0)
			return args_get_option(others[i].id)->name;
	for (int i = 0; (field = contract_field_at((size_t)i)); i++)
		if (options->has[OPTION_ID + i] && strcmp(field->name, name) == 0)
			return args_get_option((enum option_id)(OPTION_ID + i))->name;
	for (int id = 0; id < OPTION_COUNT; id++)
		if (options->has[id] &&
		    strcmp(args_get_option((enum option_id)id)->name, name) == 0)
			return args_get_option((enum option_id)id)->name;
	return NULL;
}

/*
 * A name such as "gpu" is also a word of a sentence. It names a field only in front of the message,
 * "gpu: required"; a name with an underscore always does.
 */
void ctl_name_options(const struct option_set *options, const char *message,
		      char text[2 * ERR_MSG_MAX])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	const char *c = message;
	size_t used = 0;

	text[0] = '\0';
	while (*c && used < 2 * ERR_MSG_MAX) {
		size_t length = strspn(c, letters);
		const char *option = NULL;
		char name[32];

		if (length > 0 && length < sizeof(name)) {
			memcpy(name, c, length);
			name[length] = '\0';
			if (strchr(name, '_') || (c == message && c[length] == ':'))
				option = option_of_field(options, name);
		}
		length = length ? length : strcspn(c, letters);
		used += (size_t)snprintf(
			text + used, 2 * ERR_MSG_MAX - used, "%s%.*s", option ? "--" : "",
			option ? (int)strlen(option) : (int)length, option ? option : c);
		c += length;
	}
}

enum ctl_exit ctl_fail_request(const struct ctl *ctl, int result, const struct reply *reply,
			       const struct err *err)
{
	enum ctl_exit code = ctl_exit_code(result);
	char text[2 * ERR_MSG_MAX];

	ctl_name_options(&ctl->options, err->msg, text);
	print_error(code, text, result == CLIENT_REFUSED ? reply : NULL);
	return code;
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

/* Returns the files of the command line, and for each one not given there that of the environment.
 */
static struct ctl_files find_files(const struct ctl *ctl)
{
	struct ctl_files files = ctl->files;
	const bool own_certificate = files.certificate; /* its key is not that of the environment */
	const struct {
		const char **path, *variable;
	} defaults[] = {
		{&files.token, "GOVER_TOKEN_FILE"},
		{&files.cacert, "GOVER_CACERT"},
		{&files.certificate, "GOVER_CERT"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
		if (!*defaults[i].path)
			*defaults[i].path = getenv(defaults[i].variable);
	if (!own_certificate && files.certificate && !files.key)
		files.key = getenv("GOVER_CERT_KEY");
	return files;
}

static int load_files(struct client *client, const struct ctl_files *files, struct err *reterr)
{
	int r = 0;

	if (files->key && !files->certificate)
		return err_fail(reterr, EINVAL, "--cert-key is given without --cert");
	if (files->cacert)
		r = client_load_cacert(client, files->cacert, reterr);
	if (r >= 0 && files->certificate)
		r = client_load_certificate(client, files->certificate, files->key, reterr);
	if (r >= 0 && files->token)
		r = client_load_token(client, files->token, reterr);
	return r;
}

int ctl_open_client(struct ctl *ctl, struct err *reterr)
{
	const char *from_env = getenv("GOVER_SOCKET");
	const char *path = ctl->socket ? ctl->socket : from_env ? from_env : CLIENT_SOCKET_DEFAULT;
	const struct ctl_files files = find_files(ctl);

	int r;

	if (ctl->client)
		return 0;
	r = client_new(path, ctl->url, &ctl->client, reterr);
	if (r >= 0)
		r = load_files(ctl->client, &files, reterr);
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
	return r == 0 ? CTL_DONE : ctl_fail_request(ctl, r, ret_reply, &err);
}
