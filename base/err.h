/* SPDX-License-Identifier: MIT */
/*
 * The message of an error. Code at a boundary (configuration, requests, opening a backend) writes
 * one in addition to the negative errno that it returns. Other code returns only the errno.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#define ERR_MSG_MAX 1024 /* a list of all keys of a section fits */

struct err {
	char msg[ERR_MSG_MAX]; /* "thing: problem", without a newline */
};

/*
 * Writes the message to @err, which may be NULL, and returns -@errnum:
 * return err_fail(reterr, EINVAL, "cap_pct %d: ...", cap);
 */
int err_fail(struct err *err, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* As err_fail(), but returns @code: a positive, documented condition of the caller's interface. */
int err_condition(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
