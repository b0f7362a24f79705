/* SPDX-License-Identifier: MIT */
/*
 * Functions and types that verbs share: struct ctl, requests to the daemon, errors and exit codes.
 * Verbs use REST only; they never access a GPU, the database or a cap directly.
 */
#ifndef GOVER_CTL_SHARED_CTL_H
#define GOVER_CTL_SHARED_CTL_H

#include "base/http/client.h"
#include "base/terminal/writer.h"
#include "gover-ctl/shared/args.h"

/* Exit codes. */
enum ctl_exit {
	CTL_DONE = 0,
	CTL_FAILED = 1, /* the daemon refused the request, or the operation failed */
	CTL_USAGE = 2,
	CTL_UNREACHABLE = 3,
	CTL_NOT_EXECUTABLE = 126, /* `run` found the program, but cannot execute it */
	CTL_NOT_FOUND = 127,	  /* `run` did not find the program */
};

/* Paths of the files that identify the user and the daemon over TCP; NULL: none. */
struct ctl_files {
	const char *token, *cacert, *certificate, *key;
};

struct ctl {
	struct writer writer;
	struct client *client;	  /* NULL until the first request */
	const char *socket, *url; /* options as given on the command line; NULL: not given */
	struct ctl_files files;
	struct option_set options; /* options of the verb; errors of the daemon name them */
};

/*
 * Selects the form of errors: a line of text, or an object in one line (--json). Also applies to
 * errors before there is a struct ctl.
 */
void ctl_set_json_errors(bool json);
bool ctl_has_json_errors(void);

/* Prints an error on standard error, "gover-ctl: ...", and returns @code. */
enum ctl_exit ctl_fail(enum ctl_exit code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Sends a request and prints an error if the request fails. The caller keeps ownership of @body,
 * which may be NULL. On CTL_DONE the caller frees *ret_reply with reply_fini().
 */
enum ctl_exit ctl_request(struct ctl *ctl, const char *method, const json_t *body,
			  struct reply *ret_reply, const char *path_format, ...)
	__attribute__((format(printf, 5, 6)));

/* Sends a request without printing errors. Returns the result of client_request(). */
int ctl_try_request(struct ctl *ctl, const struct client_call *call, struct reply *ret_reply,
		    struct err *reterr);

/*
 * Prints the error of a request that ctl_try_request() ended with @result, and returns the exit
 * code. @reply: what the request returned.
 */
enum ctl_exit ctl_fail_request(const struct ctl *ctl, int result, const struct reply *reply,
			       const struct err *err);

/*
 * Copies @message to @text. Replaces the name of a field of the contract by the name of the option
 * that sets it: "initial_cap_pct: 0 is not allowed" becomes "--cap: 0 is not allowed".
 */
void ctl_name_options(const struct option_set *options, const char *message,
		      char text[2 * ERR_MSG_MAX]);

/* Returns the exit code for a result of client_request() or ctl_open_client(). */
enum ctl_exit ctl_exit_code(int result);

/*
 * Creates ctl->client unless it exists. Returns -EINVAL if the address is not usable, a file cannot
 * be read, or there is a key without a certificate.
 */
int ctl_open_client(struct ctl *ctl, struct err *reterr);

/*
 * Returns CTL_DONE if @id is a valid id. Otherwise prints the allowed form and returns CTL_USAGE.
 * @what is a word for the message, such as "vGPU".
 */
enum ctl_exit ctl_check_id(const char *what, const char *id);

/*
 * Parses @word as a number. If it is not a number, prints an error and returns CTL_USAGE. @what is
 * a word for the message, such as "alert".
 */
enum ctl_exit ctl_parse_number(const char *what, const char *word, long long *ret_number);

#endif
