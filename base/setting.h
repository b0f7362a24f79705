/* SPDX-License-Identifier: MIT */
/*
 * Settings: rows that say of each key of an INI file where its value goes and what it may be. A
 * table of them, ended by no row of its own, is all that reading, printing and checking need
 * (base/inifile.h). Must never take a value that its row does not allow.
 */
#ifndef BASE_SETTING_H
#define BASE_SETTING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct setting;

struct setting_type {
	/* Reads @text into @at, or says false and leaves it alone. @why: what to say instead of
	 * setting.allowed, where there is more to say. */
	bool (*set)(const struct setting *setting, void *at, const char *text, struct err *why);
	/* As set() would read it again. */
	void (*format)(const void *at, char *ret_text, size_t size);
};

struct setting {
	const char *section, *key; /* "gpu NAME": a section that is there once for each name */
	const char *allowed;	   /* "0..100 percent" */
	bool live;		   /* may change while the program runs */
	const struct setting_type *type;
	size_t offset;			/* in the struct of the section */
	double min, max;		/* of a number; of a text's length */
	bool (*fits)(const char *text); /* of a text that is not empty; NULL: any does */
};

extern const struct setting_type setting_int;	 /* int */
extern const struct setting_type setting_number; /* double */
extern const struct setting_type setting_flag;	 /* bool */
extern const struct setting_type setting_text;	 /* char[max + 1] */
extern const struct setting_type setting_secret; /* the same, and no sentence has its value */

/* A row. @at is four arguments: section, live, key, offset. A range is written once, as numbers,
 * and said from there. */
#define SETTING_ROW_OF(section, live, key, at, type, low, high, allowed, fits) \
	{                                                                      \
		section, key, allowed, live, &(type), at, low, high, fits      \
	}
#define SETTING_ROW(...) SETTING_ROW_OF(__VA_ARGS__)
#define SETTING_INT(at, low, high, unit) \
	SETTING_ROW(at, setting_int, low, high, #low ".." #high unit, NULL)
#define SETTING_NUMBER(at, low, high, unit) \
	SETTING_ROW(at, setting_number, low, high, #low ".." #high unit, NULL)
#define SETTING_FLAG(at)		SETTING_ROW(at, setting_flag, 0, 0, "on or off", NULL)
#define SETTING_WORD(at, allowed, fits) SETTING_ROW(at, setting_text, 1, 15, allowed, fits)
#define SETTING_TEXT(at, low, high, what, fits)                                                    \
	SETTING_ROW(at, setting_text, low, high, what " (" #low ".." #high " characters, no ';')", \
		    fits)
#define SETTING_SECRET(at, low, high, what, fits)  \
	SETTING_ROW(at, setting_secret, low, high, \
		    what " (" #low ".." #high " characters, no ';')", fits)

/* Reads @text as the value of @setting in the struct at @base. -EINVAL with a sentence that says
 * what is allowed. */
int setting_set(const struct setting *setting, void *base, const char *text, struct err *reterr);

/* The value in the struct at @base as setting_set() would read it. */
void setting_format(const struct setting *setting, const void *base, char *ret_text, size_t size);

#endif
