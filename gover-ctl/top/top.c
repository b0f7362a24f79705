/* SPDX-License-Identifier: MIT */
/* `top`: a live view of the host. Keeps running while the daemon is unreachable. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/terminal/field.h"
#include "gover-ctl/shared/status.h"
#include "gover-ctl/top/picture.h"
#include "gover-ctl/top/screen.h"
#include "gover-ctl/top/top.h"

#define REFRESH_MS  1000
#define REPLY_MS    2000L /* a daemon that does not reply within this time is unreachable */
#define HISTORY_MAX 64	  /* maximum number of vGPUs whose history is requested at the start */

struct top {
	struct ctl *ctl;
	struct reply host, decisions;
	struct sparks sparks;
	struct top_view view;
	struct err notice; /* error of the last request; "": the request succeeded */
};

static int fetch_one(struct ctl *ctl, const char *path, struct reply *reply, struct err *reterr)
{
	struct client_call call = {.method = "GET", .path = path};
	struct reply fresh = {0};
	int r = ctl_try_request(ctl, &call, &fresh, reterr);

	if (r != 0) {
		reply_fini(&fresh);
		return r;
	}
	reply_fini(reply);
	*reply = fresh;
	return 0;
}

/* Requests new data. If the request fails, the old data is kept. */
static int fetch(struct top *top, struct err *reterr)
{
	const char *focus = top->view.focus;
	char path[CLIENT_PATH_MAX];
	int r = fetch_one(top->ctl, "/v1/host", &top->host, reterr);
	bool answered = r == 0;

	snprintf(path, sizeof(path), "/v1/decisions?limit=%d%s%s", TOP_DECISIONS,
		 focus[0] ? "&vgpu=" : "", focus);
	if (r == 0)
		r = fetch_one(top->ctl, path, &top->decisions, reterr);
	sparks_record(&top->sparks, answered ? json_object_get(top->host.json, "vgpus") : NULL);
	return r;
}

/* Fills the sparklines with the recorded history, if the daemon records a history. */
static void fetch_history(struct top *top)
{
	const json_t *vgpus = json_object_get(top->host.json, "vgpus"), *vgpu;
	int step_s = top->view.delay_ms > 1000 ? top->view.delay_ms / 1000 : 1;
	long long now = (long long)time(NULL);
	char path[CLIENT_PATH_MAX];
	struct err err;
	size_t i;

	if (!field_true(json_object_get(top->host.json, "history"), "enabled"))
		return;
	json_array_foreach (vgpus, i, vgpu) {
		CLEANUP_REPLY struct reply reply = {0};
		const char *id = field_text(vgpu, "id");

		snprintf(path, sizeof(path), "/v1/vgpus/%s/history?from=%lld&to=%lld&step=%d", id,
			 now - (long long)SPARK_READINGS_MAX * step_s, now, step_s);
		if (i == HISTORY_MAX || fetch_one(top->ctl, path, &reply, &err) < 0)
			return;
		sparks_prepend_history(&top->sparks, id, json_object_get(reply.json, "points"));
	}
}

static struct picture_data collect_data(const struct top *top)
{
	return (struct picture_data){
		.host = top->host.json,
		.decisions = top->decisions.json,
		.sparks = &top->sparks,
		.notice = top->notice.msg[0] ? top->notice.msg : NULL,
	};
}

/* Replaces the vGPUs of the last reply by those that pass the filter, sorted. */
static void select_vgpus(struct top *top)
{
	size_t n = 0;
	const json_t **rows =
		top_view_rows(&top->view, json_object_get(top->host.json, "vgpus"), &n);
	json_t *selected = json_array();

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(selected, json_incref((json_t *)(uintptr_t)rows[i]));
	(void)json_object_set_new(top->host.json, "vgpus", selected);
	free(rows);
}

/* Prints what `status` prints, @count times; 0: until a failure. */
static enum ctl_exit print_batch(struct top *top, long count)
{
	for (;;) {
		struct err err;

		select_vgpus(top);
		status_print(top->ctl, top->host.json);
		if (fflush(top->ctl->writer.out) != 0)
			return ctl_fail(CTL_FAILED, "standard output: %s", strerror(errno));
		if (count > 0 && --count == 0)
			return CTL_DONE;
		(void)poll(NULL, 0, top->view.delay_ms);
		while (fetch_one(top->ctl, "/v1/host", &top->host, &err) != 0) {
			(void)ctl_fail(CTL_UNREACHABLE, "%s", err.msg);
			(void)poll(NULL, 0, top->view.delay_ms);
		}
		fputc('\n', top->ctl->writer.out);
	}
}

static void draw_screen(struct top *top)
{
	struct canvas canvas = {.writer = &top->ctl->writer};
	struct picture_data data = collect_data(top);

	screen_size(&canvas.height, &canvas.width);
	screen_clear();
	picture_draw(&canvas, &data, &top->view);
	screen_show();
}

/*
 * Handles keys until the next refresh, and redraws the picture after each key. Returns 0 to
 * refresh, 1 to quit, or a negative errno.
 */
static int wait_key(struct top *top, uint64_t begun_ns)
{
	for (;;) {
		uint64_t now = clock_now().mono_ns;
		uint64_t until_ns = begun_ns + (uint64_t)top->view.delay_ms * NS_PER_MS;
		int key = 0, r = 0;

		if (now >= until_ns && !top->view.paused)
			return 0;
		key = screen_key(top->view.paused ? -1 : (int)((until_ns - now) / NS_PER_MS) + 1);
		if (key < 0)
			return key;
		if (key == 0 && !top->view.paused && clock_now().mono_ns >= until_ns)
			return 0;
		if (key > 0)
			r = top_view_key(&top->view, key, json_object_get(top->host.json, "vgpus"));
		if (r == 1 || r == TOP_REFRESH)
			return r == 1 ? 1 : 0;
		draw_screen(top);
	}
}

static int run_live(struct top *top)
{
	int r = 0;

	while (r == 0) {
		uint64_t begun_ns = clock_now().mono_ns;

		draw_screen(top);
		r = wait_key(top, begun_ns);
		top->notice.msg[0] = '\0';
		if (r == 0)
			(void)fetch(top, &top->notice);
	}
	return r;
}

static enum ctl_exit show_live(struct top *top)
{
	int r = screen_enter(stdout);

	if (r == 0)
		r = run_live(top);
	screen_leave();
	return r < 0 ? ctl_fail(CTL_FAILED, "top: terminal: %s", strerror(-r)) : CTL_DONE;
}

static enum ctl_exit take_options(struct top *top, const struct args *args, bool batch)
{
	const char *filter = args->values[OPTION_FILTER], *sort = args->values[OPTION_SORT];
	const char *term = getenv("TERM");
	struct err err;

	top->view.delay_ms = args_has(args, OPTION_DELAY)
				     ? (int)(args_get_number(args, OPTION_DELAY) * 1000)
				     : REFRESH_MS;
	if (filter && strlen(filter) >= TOP_FILTER_MAX)
		return ctl_fail(CTL_USAGE, "top: --filter: too long (limit %d characters)",
				TOP_FILTER_MAX - 1);
	if (filter)
		strcpy(top->view.filter, filter);
	if (sort && top_view_sort(&top->view, sort, &err) < 0)
		return ctl_fail(CTL_USAGE, "top: %s", err.msg);
	if (!batch && !top->ctl->writer.tty)
		return ctl_fail(CTL_USAGE,
				"top: standard output is not a terminal (use --once or --batch)");
	if (!batch && (!term || !term[0] || strcmp(term, "dumb") == 0))
		return ctl_fail(CTL_USAGE,
				"top: terminal type '%s' is not supported (use --once or --batch)",
				term ? term : "");
	return CTL_DONE;
}

enum ctl_exit verb_top(struct ctl *ctl, const struct args *args)
{
	struct top top = {.ctl = ctl};
	bool once = args_has(args, OPTION_ONCE), counts = args_has(args, OPTION_PICTURES);
	bool batch = once || counts || args_has(args, OPTION_BATCH);
	long count = once ? 1 : counts ? (long)args_get_number(args, OPTION_PICTURES) : 0;
	enum ctl_exit done = take_options(&top, args, batch);
	struct err err;
	int r;

	if (done != CTL_DONE)
		return done;
	r = ctl_open_client(ctl, &err);
	if (r < 0)
		return ctl_fail(ctl_exit_code(r), "%s", err.msg);
	client_set_timeout(ctl->client, REPLY_MS);
	r = batch ? fetch_one(ctl, "/v1/host", &top.host, &err) : fetch(&top, &err);
	if (r != 0) {
		done = ctl_fail(ctl_exit_code(r), "%s", err.msg);
	} else if (batch) {
		done = print_batch(&top, count);
	} else {
		fetch_history(&top);
		done = show_live(&top);
	}
	reply_fini(&top.host);
	reply_fini(&top.decisions);
	sparks_fini(&top.sparks);
	return done;
}
