/* SPDX-License-Identifier: MIT */
/* The types of settings: parsing and formatting of their values. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config/setting.h"
#include "base/parse.h"
#include "base/text.h"

static bool set_int(const struct setting *setting, void *at, const char *text, struct err *why)
{
	int64_t value;

	(void)why;
	if (parse_int(text, (int64_t)setting->min, (int64_t)setting->max, &value) < 0)
		return false;
	*(int *)at = (int)value;
	return true;
}

static void format_int(const void *at, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "%d", *(const int *)at);
}

static bool set_number(const struct setting *setting, void *at, const char *text, struct err *why)
{
	(void)why;
	return parse_double(text, setting->min, setting->max, at) == 0;
}

/*
 * Writes the number with as few digits as possible (at least six) so that parsing the text gives
 * the same number.
 */
static void format_number(const void *at, char *ret_text, size_t size)
{
	double value = *(const double *)at;
	int digits = 6;

	do
		snprintf(ret_text, size, "%.*g", digits, value);
	while (fabs(strtod(ret_text, NULL) - value) > 0 && digits++ < 17);
}

static bool set_flag(const struct setting *setting, void *at, const char *text, struct err *why)
{
	(void)setting;
	(void)why;
	return parse_bool(text, at) == 0;
}

static void format_flag(const void *at, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "%s", *(const bool *)at ? "on" : "off");
}

static bool set_text(const struct setting *setting, void *at, const char *text, struct err *why)
{
	size_t length = strlen(text);
	uint32_t code;

	if ((double)length < setting->min || (double)length > setting->max)
		return false;
	if (length > 0 && (text[0] == ' ' || text[length - 1] == ' '))
		return false;
	if (strchr(text, ';'))
		return false;
	code = text_find_control(text);
	if (code > 0) {
		(void)err_fail(why, EINVAL, "the character U+%04X is not allowed (allowed: %s)",
			       (unsigned int)code, setting->allowed);
		return false;
	}
	if (length > 0 && setting->fits && !setting->fits(text))
		return false;
	memcpy(at, text, length + 1);
	return true;
}

static bool set_word(const struct setting *setting, void *at, const char *text, struct err *why)
{
	size_t length = strlen(text), n;

	for (const char *word = setting->allowed; *word; word += n + strspn(word + n, ", ")) {
		n = strcspn(word, ", ");
		if (n == length && strncmp(word, text, n) == 0 && strcmp(text, "or") != 0)
			return set_text(setting, at, text, why);
	}
	return false;
}

static void format_text(const void *at, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "%s", (const char *)at);
}

const struct setting_type setting_int = {set_int, format_int};
const struct setting_type setting_number = {set_number, format_number};
const struct setting_type setting_flag = {set_flag, format_flag};
const struct setting_type setting_text = {set_text, format_text};
const struct setting_type setting_word = {set_word, format_text};
const struct setting_type setting_secret = {set_text, format_text};

int setting_set(const struct setting *setting, void *base, const char *text, struct err *reterr)
{
	struct err why = {""};

	if (setting->type->set(setting, (char *)base + setting->offset, text, &why))
		return 0;
	if (why.msg[0])
		return err_fail(reterr, EINVAL, "[%s] %s: %s", setting->section, setting->key,
				why.msg);
	if (setting->type == &setting_secret)
		return err_fail(reterr, EINVAL, "[%s] %s: the value is not allowed (allowed: %s)",
				setting->section, setting->key, setting->allowed);
	return err_fail(reterr, EINVAL, "[%s] %s = \"%.60s\"%s is not allowed (allowed: %s)",
			setting->section, setting->key, text, strlen(text) > 60 ? "..." : "",
			setting->allowed);
}

void setting_format(const struct setting *setting, const void *base, char *ret_text, size_t size)
{
	setting->type->format((const char *)base + setting->offset, ret_text, size);
}
