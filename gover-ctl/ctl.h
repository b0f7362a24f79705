/* SPDX-License-Identifier: MIT */
/*
 * One run of gover-ctl: what every verb is handed, and how it asks the daemon and gives up. Verbs
 * talk REST only; must never read or change a GPU, a database or a cap themselves.
 */
#ifndef GOVER_CTL_CTL_H
#define GOVER_CTL_CTL_H

#include "gover-ctl/args.h"
#include "gover-ctl/client.h"
#include "gover-ctl/writer.h"

/* What gover-ctl exits with. */
enum ctl_exit {
	CTL_DONE = 0,
	CTL_FAILED = 1, /* refused or failed */
	CTL_USAGE = 2,
	CTL_UNREACHABLE = 3,
	CTL_NOT_EXECUTABLE = 126, /* run: as a shell says it */
	CTL_NOT_FOUND = 127,
};

struct ctl {
	struct writer writer;
	struct client *client;	  /* NULL until the first request */
	const char *socket, *url; /* as given; NULL: not */
	const char *token_file, *cacert;
};

/* Says "gover-ctl: ..." on stderr and returns @code, so that a refusal is one line. */
enum ctl_exit ctl_fail(enum ctl_exit code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Asks the daemon and, where that fails, says so. @body may be NULL and stays the caller's. The
 * path is made of @path_format. On CTL_DONE *ret_reply is the caller's to reply_fini().
 */
enum ctl_exit ctl_request(struct ctl *ctl, const char *method, const json_t *body,
			  struct reply *ret_reply, const char *path_format, ...)
	__attribute__((format(printf, 5, 6)));

/* The same without a word: returns what client_request() does, for verbs that tell failures apart.
 */
int ctl_try_request(struct ctl *ctl, const struct client_call *call, struct reply *ret_reply,
		    struct err *reterr);

/* The exit code for what client_request() or ctl_open_client() returned. */
enum ctl_exit ctl_exit_code(int result);

/* Makes the client of this run where it is not made yet. -EINVAL: the address is of no use. */
int ctl_open_client(struct ctl *ctl, struct err *reterr);

/* Checks that @id may stand in a path: CTL_DONE, or CTL_USAGE after saying what is allowed. */
enum ctl_exit ctl_check_id(const char *what, const char *id);

#endif
