/* SPDX-License-Identifier: MIT */
/* `top`: the host watched live. Goes on over a daemon that is away for a while; must never change
 * anything. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "gover-ctl/screen.h"
#include "gover-ctl/top.h"
#include "gover-ctl/verbs.h"

#define REFRESH_MS 1000
#define ANSWER_MS  2000L /* a daemon that is later than this counts as away */

struct answers {
	struct reply host, decisions;
};

static int fetch_one(struct ctl *ctl, const char *path, struct reply *reply, struct err *reterr)
{
	struct client_call call = {.method = "GET", .path = path};
	struct reply fresh = {0};
	int r = ctl_try(ctl, &call, &fresh, reterr);

	if (r != 0)
		return r;
	reply_fini(reply);
	*reply = fresh;
	return 0;
}

/* What it knew before stays where an answer is missing. */
static int fetch(struct ctl *ctl, struct answers *answers, struct err *reterr)
{
	char path[64];
	int r = fetch_one(ctl, "/v1/host", &answers->host, reterr);

	snprintf(path, sizeof(path), "/v1/decisions?limit=%d", TOP_DECISIONS);
	return r != 0 ? r : fetch_one(ctl, path, &answers->decisions, reterr);
}

static enum ctl_exit draw_once(struct ctl *ctl, const struct answers *answers)
{
	struct canvas canvas = {
		.out = ctl->writer.out,
		.writer = &ctl->writer,
		.width = ctl->writer.width,
	};

	top_draw(&canvas, answers->host.json, answers->decisions.json, NULL);
	return CTL_DONE;
}

static int draw_screen(struct ctl *ctl, const struct answers *answers, const char *notice)
{
	struct canvas canvas = {.writer = &ctl->writer, .in_place = true};
	char *text = NULL;
	size_t length = 0;
	int r;

	canvas.out = open_memstream(&text, &length);
	if (!canvas.out)
		return -errno;
	screen_size(&canvas.height, &canvas.width);
	top_draw(&canvas, answers->host.json, answers->decisions.json, notice);
	r = fclose(canvas.out) == 0 ? screen_draw(text, length) : -errno;
	free(text);
	return r;
}

/* Until the next refresh: 0 to go on, 1 to end, or a negative errno. A changed size is drawn at
 * once. */
static int wait_key(struct ctl *ctl, const struct answers *answers, const char *notice,
		    uint64_t until_ns)
{
	for (;;) {
		uint64_t now = clock_now().mono_ns;
		int key = now < until_ns ? screen_key((int)((until_ns - now) / NS_PER_MS) + 1) : 0;

		if (key < 0 || key == 'q' || key == 'Q')
			return key < 0 ? key : 1;
		if (clock_now().mono_ns >= until_ns)
			return 0;
		key = draw_screen(ctl, answers, notice);
		if (key < 0)
			return key;
	}
}

static int watch(struct ctl *ctl, struct answers *answers)
{
	uint64_t next_ns = clock_now().mono_ns;
	struct err err;
	int r = 0, asked = 0;

	while (r == 0) {
		r = draw_screen(ctl, answers, asked == 0 ? NULL : err.msg);
		next_ns += REFRESH_MS * NS_PER_MS;
		if (clock_now().mono_ns > next_ns)
			next_ns = clock_now().mono_ns + REFRESH_MS * NS_PER_MS;
		if (r == 0)
			r = wait_key(ctl, answers, asked == 0 ? NULL : err.msg, next_ns);
		if (r == 0)
			asked = fetch(ctl, answers, &err);
	}
	return r;
}

enum ctl_exit verb_top(struct ctl *ctl, const struct args *args)
{
	struct answers answers = {0};
	struct err err;
	enum ctl_exit done = CTL_DONE;
	int r = 0;

	if (!args_has(args, OPTION_ONCE) && !ctl->writer.tty)
		return ctl_fail(CTL_USAGE, "top: standard output is no terminal; --once prints one "
					   "picture");
	r = ctl_open(ctl, &err);
	if (r == 0) {
		client_set_timeout(ctl->client, ANSWER_MS);
		r = fetch(ctl, &answers, &err);
	}
	if (r != 0) {
		done = ctl_fail(ctl_exit_of(r), "%s", err.msg);
	} else if (args_has(args, OPTION_ONCE)) {
		done = draw_once(ctl, &answers);
	} else {
		r = screen_enter(STDOUT_FILENO);
		if (r == 0)
			r = watch(ctl, &answers);
		screen_leave();
		if (r < 0)
			done = ctl_fail(CTL_FAILED, "top: the terminal: %s", strerror(-r));
	}
	reply_fini(&answers.host);
	reply_fini(&answers.decisions);
	return done;
}
