/* SPDX-License-Identifier: MIT */
/*
 * What verbs share: the run's context, requests to the daemon, errors and exit codes. Verbs use
 * REST only; they never access a GPU, the database or a cap directly.
 */
#ifndef GOVER_CTL_CTL_H
#define GOVER_CTL_CTL_H

#include "gover-ctl/args.h"
#include "gover-ctl/client.h"
#include "gover-ctl/writer.h"

/* Exit codes. */
enum ctl_exit {
	CTL_DONE = 0,
	CTL_FAILED = 1, /* the daemon refused, or the operation failed */
	CTL_USAGE = 2,
	CTL_UNREACHABLE = 3,
	CTL_NOT_EXECUTABLE = 126, /* of `run`, as in a shell */
	CTL_NOT_FOUND = 127,
};

struct ctl {
	struct writer writer;
	struct client *client;	  /* NULL until the first request */
	const char *socket, *url; /* as given on the command line; NULL: not given */
	const char *token_file, *cacert;
};

/* Prints "gover-ctl: ..." on standard error and returns @code. */
enum ctl_exit ctl_fail(enum ctl_exit code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Sends a request and prints an error if it fails. @body may be NULL and stays the caller's. On
 * CTL_DONE the caller frees *ret_reply with reply_fini().
 */
enum ctl_exit ctl_request(struct ctl *ctl, const char *method, const json_t *body,
			  struct reply *ret_reply, const char *path_format, ...)
	__attribute__((format(printf, 5, 6)));

/* Sends a request without printing errors. Returns as client_request(). */
int ctl_try_request(struct ctl *ctl, const struct client_call *call, struct reply *ret_reply,
		    struct err *reterr);

/* Prints that memory is short; returns CTL_FAILED. */
enum ctl_exit ctl_fail_memory(void);

/* The exit code for a result of client_request() or ctl_open_client(). */
enum ctl_exit ctl_exit_code(int result);

/* Creates the client of this run unless it exists. -EINVAL: the address is not usable. */
int ctl_open_client(struct ctl *ctl, struct err *reterr);

/* CTL_DONE if @id is a valid id, else CTL_USAGE after printing what is allowed. */
enum ctl_exit ctl_check_id(const char *what, const char *id);

/* The number in @word, which identifies a @what ("alert"). CTL_USAGE after printing an error. */
enum ctl_exit ctl_parse_number(const char *what, const char *word, long long *ret_number);

#endif
