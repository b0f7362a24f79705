/* SPDX-License-Identifier: MIT */
/*
 * Reads an INI file by a table of settings, strictly: what is not understood is refused with
 * "FILE:LINE: what is wrong and what is allowed". Must never go on after what it does not
 * understand, unless the reader wants to be told of every fault.
 */
#ifndef BASE_INIFILE_H
#define BASE_INIFILE_H

#include "base/setting.h"

#define INIFILE_KEYS_MAX 128 /* rows of a table */

/* Who wants a file read. */
struct inifile_reader {
	const struct setting *(*at)(size_t index); /* the table; NULL past its end */
	void *userdata;
	/*
	 * A section of the table begins on @line; its values go to *ret_base. @name is what stands
	 * behind the first word of one that has names ("gpu NAME" in the table), "" where nothing
	 * does, and NULL for others. Whether a name may come twice is for this to say; the others
	 * never do. -EINVAL with a sentence.
	 */
	int (*enter)(void *userdata, const struct setting *first, const char *name, int line,
		     void **ret_base, struct err *reterr);
	/* @setting was read into @base. NULL: nothing more to look at. -EINVAL with a sentence. */
	int (*check)(void *userdata, const struct setting *setting, void *base, struct err *reterr);
	/* NULL, or told of every fault, without file and line in the sentence: reading goes on, and
	 * -EINVAL is returned at the end. Keys of a section that is not understood are passed over.
	 */
	void (*fault)(void *userdata, int line, const char *why);
	/* NULL, or told of every key that was understood. */
	void (*seen)(void *userdata, const struct setting *setting, int line);
};

/* Reads @path, at most @bytes_max long. What was read before an error stays written. -EINVAL, or
 * as the system says ("FILE: cannot be read: ..."). */
int inifile_read(const char *path, size_t bytes_max, const struct inifile_reader *reader,
		 struct err *reterr);

#endif
