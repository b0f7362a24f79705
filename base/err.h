/* SPDX-License-Identifier: MIT */
/*
 * The message of an error. Code that reads the configuration, serves requests or opens a backend
 * writes such a message and returns a negative errno.  Other code returns only the errno.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#define ERR_MSG_MAX 1024 /* size of a message; enough for a list of all keys of a section */

struct err {
	char msg[ERR_MSG_MAX]; /* "thing: problem", without a newline */
};

/*
 * Writes the message to @err, which may be NULL, and returns @code. The function that calls
 * err_condition() documents the meaning of a positive @code.
 */
int err_condition(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Returns -@errnum. Example: return err_fail(reterr, EINVAL, "cap_pct %d: ...", cap); */
#define err_fail(err, errnum, ...) err_condition(err, -(errnum), __VA_ARGS__)

#endif
