/* SPDX-License-Identifier: MIT */
/*
 * The hook that libvirt runs before a domain starts (gover-fleet --hook), and its protocol with
 * gover-fleet: a line of JSON each way over a unix socket, with deadlines of CLOCK_MONOTONIC.
 */
#ifndef GOVER_FLEET_CLAIM_HOOK_H
#define GOVER_FLEET_CLAIM_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "gover-fleet/config/fleet-config.h"

/* JSON needs at most six bytes for a byte of the XML. */
#define HOOK_PROTOCOL_LINE_MAX (6 * 65536 + 4096)
#define HOOK_PROTOCOL_TEXT_MAX 512

/*
 * Waits for @events of @fd. Returns 0, -ETIMEDOUT, or another negative errno. @stop_fd: an fd that
 * becomes readable to end all waiting, with -ECANCELED; -1: none.
 */
int hook_protocol_wait(int fd, short events, int stop_fd, uint64_t until_ns);

/*
 * Reads a line without its newline into a new buffer with a NUL, which the caller frees. Errors:
 * those of hook_protocol_wait(), -E2BIG: longer than HOOK_PROTOCOL_LINE_MAX; -ECONNRESET: no
 * newline came.
 */
int hook_protocol_read_line(int fd, int stop_fd, uint64_t until_ns, char **ret_line);

/* Writes all bytes to the non-blocking socket @fd. Errors as above. */
int hook_protocol_write(int fd, int stop_fd, uint64_t until_ns, const char *text, size_t length);

/* Connects a non-blocking socket to @path. Returns the fd, which the caller closes. */
int hook_protocol_connect(const char *path, uint64_t until_ns);

struct hook_protocol_request {
	char *operation, *domain, *xml; /* owned */
	size_t xml_length;
};
void hook_protocol_request_fini(struct hook_protocol_request *request);

/* Return lines with their newline, which the caller frees; NULL: a text is not UTF-8. */
char *hook_protocol_print_request(const char *operation, const char *domain, const char *uuid,
				  const char *xml, size_t length);
char *hook_protocol_print_answer(bool allow, const char *text);

/* Return 0, or -EINVAL with a message. */
int hook_protocol_parse_request(const char *line, struct hook_protocol_request *ret_request,
				struct err *reterr);
int hook_protocol_parse_answer(const char *line, bool *ret_allow,
			       char ret_text[HOOK_PROTOCOL_TEXT_MAX], struct err *reterr);

/*
 * Reads the XML of the domain from stdin and asks gover-fleet. Returns the exit status for libvirt:
 * 0 starts the domain, 1 refuses it after one line on stderr. Ends the process after
 * hook_timeout_s, whatever blocks. Calls no function of libvirt.
 */
int hook_run(const struct fleet_config *config, const char *domain, const char *operation);

#endif
