/* SPDX-License-Identifier: MIT */
/*
 * Reads an INI file strictly against a table of settings. Everything unknown is a fault, reported
 * as "FILE:LINE: problem (allowed: ...)". Reading stops at the first fault, unless the reader wants
 * a report of all faults.
 */
#ifndef BASE_INIFILE_H
#define BASE_INIFILE_H

#include "base/setting.h"

#define INIFILE_KEYS_MAX 128 /* maximum number of rows in a table of settings */

/* The callbacks that a caller of inifile_read() provides. */
struct inifile_reader {
	const struct setting *(*at)(
		size_t index); /* returns row @index of the table, or NULL past its end */
	void *userdata;
	/*
	 * Called for each section header. @first is the section's first row; its values will be
	 * written to *ret_base. For a section with names ("gpu NAME" in the table) @name is the
	 * text after the first word, possibly "", and this function decides whether a name may
	 * occur twice. For other sections @name is NULL, and a second section with the same title
	 * is a fault. The function returns -EINVAL with a message to report a fault.
	 */
	int (*enter)(void *userdata, const struct setting *first, const char *name, int line,
		     void **ret_base, struct err *reterr);
	/* NULL, or called after @setting was read into @base. The function returns -EINVAL with a
	 * message to report a fault. */
	int (*check)(void *userdata, const struct setting *setting, void *base, struct err *reterr);
	/* NULL, or called for each fault. Reading then continues after faults, skips the keys of
	 * unknown sections, and returns -EINVAL at the end. @why contains no file and line. */
	void (*fault)(void *userdata, int line, const char *why);
	/* NULL, or called for each key without a fault. */
	void (*seen)(void *userdata, const struct setting *setting, int line);
};

/* Reads @path. Returns -EINVAL for a fault, -EFBIG for a file larger than @bytes_max, or the error
 * of reading the file. Values that were read before an error remain set. */
int inifile_read(const char *path, size_t bytes_max, const struct inifile_reader *reader,
		 struct err *reterr);

#endif
