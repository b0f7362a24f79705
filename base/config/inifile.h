/* SPDX-License-Identifier: MIT */
/*
 * Reads an INI file strictly against a table of settings. An unknown section or key is a fault,
 * reported as "FILE:LINE: problem (allowed: ...)". Reading stops at the first fault, unless the
 * reader has a fault() callback.
 */
#ifndef BASE_CONFIG_INIFILE_H
#define BASE_CONFIG_INIFILE_H

#include "base/config/setting.h"

#define INIFILE_KEYS_MAX 128 /* maximum number of rows in a table of settings */

/* The callbacks that a caller of inifile_read() provides. */
struct inifile_reader {
	const struct setting *(*at)(
		size_t index); /* returns row @index of the table, or NULL past its end */
	void *userdata;
	/*
	 * Called for each section header. @first is the first row of this section in the table.
	 * Sets *ret_base to the struct that receives the values. If the table contains the section
	 * as "gpu NAME", @name is the name in the header (or ""), and this function decides whether
	 * a name may occur twice. For other sections @name is NULL, and the section may occur only
	 * once. Returns -EINVAL with a message to report a fault.
	 */
	int (*enter)(void *userdata, const struct setting *first, const char *name, int line,
		     void **ret_base, struct err *reterr);
	/* Called after @setting was read into @base. Returns -EINVAL with a message to report a
	 * fault. NULL: no check. */
	int (*check)(void *userdata, const struct setting *setting, void *base, struct err *reterr);
	/*
	 * Called for each fault. @why describes the fault without file and line number. Reading
	 * then continues, skips the keys of unknown sections, and returns -EINVAL at the end. NULL:
	 * stop at the first fault.
	 */
	void (*fault)(void *userdata, int line, const char *why);
	/* Called for each key without a fault. May be NULL. */
	void (*seen)(void *userdata, const struct setting *setting, int line);
};

/* Reads @path. Returns -EINVAL for a fault, -EFBIG for a file larger than @bytes_max, or the error
 * of reading the file. Values that were read before an error remain set. */
int inifile_read(const char *path, size_t bytes_max, const struct inifile_reader *reader,
		 struct err *reterr);

#endif
