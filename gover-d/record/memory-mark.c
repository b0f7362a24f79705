/* SPDX-License-Identifier: MIT */
/* The wait after a failed allocation, and the condition of its alert. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "gover-d/record/memory-mark.h"
#include "gover-d/util/log.h"

/* gover-d.service allows six starts in 50 s. */
#define WAIT_S 10

void memory_mark_open(const char *state_dir)
{
	char path[PATH_MAX];
	int64_t marked_ms;
	int r;

	if (xalloc_has_mark())
		return;
	snprintf(path, sizeof(path), "%s/out-of-memory", state_dir);
	r = xalloc_open_mark(path);
	if (r < 0)
		log_warning("%s cannot be opened: %s, ignoring", path, strerror(-r));
	if (!xalloc_marked(&marked_ms) || llabs(clock_now().wall_ms - marked_ms) >= WAIT_S * 1000)
		return;
	log_warning("memory was exhausted less than %d s ago: waiting %d s", WAIT_S, WAIT_S);
	/* The next step of the start gets further time: see gover-d/main.c. */
	(void)sd_notify(0, "EXTEND_TIMEOUT_USEC=20000000\n"
			   "STATUS=waiting, because memory was exhausted");
	(void)sleep(WAIT_S);
}

void memory_mark_hold(struct alerts *alerts, int64_t marked_ms, int64_t now_ms)
{
	char text[CLOCK_TEXT_MAX];

	clock_format(marked_ms, text);
	alerts_hold(alerts, ALERT_OUT_OF_MEMORY, NULL, NULL, now_ms,
		    "gover-d ended at %s because memory was exhausted, and was started again; "
		    "acknowledge this alert to end it",
		    text);
}

void memory_mark_acknowledge(const struct alerts *alerts, int64_t id)
{
	const struct alert *alert = alerts_find(alerts, id);
	int r = alert && alert->kind == ALERT_OUT_OF_MEMORY ? xalloc_clear_mark() : 0;

	if (r < 0)
		log_warning("the mark of the exhausted memory cannot be cleared: %s", strerror(-r));
}
