/* SPDX-License-Identifier: MIT */
/* Makes and encodes findings. */
#include <stdarg.h>
#include <stdio.h>

#include "base/finding.h"

void finding_set(struct finding *finding, enum finding_state state, const char *advice,
		 const char *format, ...)
{
	va_list ap;

	finding->state = state;
	snprintf(finding->advice, sizeof(finding->advice), "%s", advice);
	va_start(ap, format);
	vsnprintf(finding->text, sizeof(finding->text), format, ap);
	va_end(ap);
}

void finding_advise(struct finding *finding, enum finding_state state, const char *text,
		    const char *format, ...)
{
	va_list ap;

	finding->state = state;
	snprintf(finding->text, sizeof(finding->text), "%s", text);
	va_start(ap, format);
	vsnprintf(finding->advice, sizeof(finding->advice), format, ap);
	va_end(ap);
}

const char *finding_state_name(enum finding_state state)
{
	static const char *const names[] = {[FINDING_OK] = "ok",
					    [FINDING_WARN] = "warn",
					    [FINDING_FAIL] = "fail",
					    [FINDING_SKIPPED] = "skipped"};

	return names[state];
}

void finding_add(json_t *list, const char *check, const struct finding *finding)
{
	if (finding->state != FINDING_SKIPPED)
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:s}", "check", check, "state",
					finding_state_name(finding->state), "text", finding->text,
					"advice", finding->advice));
}
