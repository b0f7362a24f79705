/* SPDX-License-Identifier: MIT */
/*
 * An error told in a sentence: boundary code (configuration, requests, opening a backend) fills one
 * beside the negative errno it returns. Inner code returns the errno alone.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#define ERR_MSG_MAX 1024 /* all keys of a section fit in */

struct err {
	char msg[ERR_MSG_MAX]; /* one sentence that names the thing; no newline */
};

/*
 * Writes the sentence into @err (NULL is allowed: nothing is written) and returns -@errnum, so that
 * a failure is one line: return err_fail(reterr, EINVAL, "cap_pct %d: ...", cap).
 */
int err_fail(struct err *err, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
