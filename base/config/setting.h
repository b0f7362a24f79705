/* SPDX-License-Identifier: MIT */
/*
 * A setting describes one key of an INI file: where its value is stored and which values are
 * allowed. Reading (base/config/inifile.h), printing and checking use the same table of settings.
 */
#ifndef BASE_CONFIG_SETTING_H
#define BASE_CONFIG_SETTING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct setting;

struct setting_type {
	/*
	 * Parses @text and writes the value to @at. Returns false and leaves *@at unchanged if the
	 * value is not allowed. Writes a message to @why only if setting.allowed does not explain
	 * the error.
	 */
	bool (*set)(const struct setting *setting, void *at, const char *text, struct err *why);
	/* Writes the value as text that set() accepts. */
	void (*format)(const void *at, char *ret_text, size_t size);
};

struct setting {
	const char *section; /* "gpu NAME": the file may contain several sections [gpu NAME] */
	const char *key;
	const char *allowed; /* the allowed values as text: "0..100 percent" */
	bool live;	     /* true: the setting can change while the program runs */
	const struct setting_type *type;
	size_t offset;	 /* offset of the value in the struct of the section */
	double min, max; /* limits of a number, or of the length of a text */
	/* returns true if a non-empty text is allowed; NULL: no check */
	bool (*fits)(const char *text);
};

extern const struct setting_type setting_int;	 /* int */
extern const struct setting_type setting_number; /* double */
extern const struct setting_type setting_flag;	 /* bool */
extern const struct setting_type setting_text;	 /* text in a char[max + 1] */
extern const struct setting_type setting_word; /* one of the words "a, b or c" of setting.allowed */
/* like setting_text, but messages do not show the value */
extern const struct setting_type setting_secret;

/*
 * Each macro below makes one row of a table of settings. The caller passes section, live, key and
 * offset for @at. Messages show @low and @high as the allowed range.
 */
#define SETTING_ROW_OF(section, live, key, at, type, low, high, allowed, fits) \
	{                                                                      \
		section, key, allowed, live, &(type), at, low, high, fits      \
	}
#define SETTING_ROW(...) SETTING_ROW_OF(__VA_ARGS__)
#define SETTING_INT(at, low, high, unit) \
	SETTING_ROW(at, setting_int, low, high, #low ".." #high unit, NULL)
#define SETTING_NUMBER(at, low, high, unit) \
	SETTING_ROW(at, setting_number, low, high, #low ".." #high unit, NULL)
#define SETTING_FLAG(at)	  SETTING_ROW(at, setting_flag, 0, 0, "on or off", NULL)
#define SETTING_WORD(at, allowed) SETTING_ROW(at, setting_word, 1, 15, allowed, NULL)
#define SETTING_TEXT(at, low, high, what, fits)                                                    \
	SETTING_ROW(at, setting_text, low, high, what " (" #low ".." #high " characters, no ';')", \
		    fits)
#define SETTING_SECRET(at, low, high, what, fits)  \
	SETTING_ROW(at, setting_secret, low, high, \
		    what " (" #low ".." #high " characters, no ';')", fits)

/* Parses @text and stores it in the struct at @base. Returns -EINVAL with a message that contains
 * the allowed values. */
int setting_set(const struct setting *setting, void *base, const char *text, struct err *reterr);

/* Writes the value in the struct at @base as text that setting_set() accepts. */
void setting_format(const struct setting *setting, const void *base, char *ret_text, size_t size);

#endif
