/* SPDX-License-Identifier: MIT */
/*
 * Requests while each allocation in turn fails, in any thread. The reply is the same as without the
 * failure, or an error, or the connection ends. A request with an error reply changes nothing.
 */
#include "tests/unit/gover-d/core/test-manager.h"

#include <ctype.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "gover-d/api/api.h"
#include "gover-d/auth/authn.h"
#include "gover-d/auth/tokens.h"
#include "gover-d/core/control-silence.h"
#include "gover-d/http/http.h"
#include "tests/unit/no-disk.h"
#include "tests/unit/scarce-malloc.h"
#include "tests/unit/unpack.h"

#define ALLOCATIONS_MAX 20000 /* more than each request needs */
#define REQUEST_MAX	2048
#define DEADLINE_NS	(20 * NS_PER_S)

static struct authn *authn;
static struct api *api;
static struct http *http;
static char silence[128]; /* the body of a request, with a time in the future */

static void begin(void)
{
	char until[CLOCK_TEXT_MAX];

	clock_format(clock_now().wall_ms + 86400000, until);
	snprintf(silence, sizeof(silence),
		 "{\"gpu\": \"gpu0\", \"until\": \"%s\", \"reason\": \"x\"}", until);
	assert_int_equal(set_up(NULL), 0);
	config.offer.ttl_s = 86400;
	start();
	authn = authn_new();
	assert_int_equal(authn_open(authn, &config, &err), 0);
	api = api_new(m, manager_view(m), authn);
	assert_int_equal(manager_observe(m, &api_observer, api), 0);
	assert_int_equal(http_new(m->event, config.socket, "", api, authn, &http, &err), 0);
	sell("a", 40, 0.05);
	sell("b", 40, 0.05);
	tick(2);
	fake.external_cap_pct[1] = 20;
	tick(8);
	db_flush(m->history.db);
}

static void end(void)
{
	manager_stop(m);
	http = http_free(http);
	api = api_free(api);
	authn = authn_free(authn);
	assert_int_equal(tear_down(NULL), 0);
}

/* --- a client in the thread of the loop --- */

static char answer[1024 * 1024];
static size_t answer_length;
static bool accepts_gzip; /* requests without a body accept compressed answers */

static int connect_client(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, config.socket);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Sends a request on a new connection and reads until its end. Returns the status; 0: no reply. */
static int ask(const char *text)
{
	const uint64_t end_ns = clock_now().mono_ns + DEADLINE_NS;
	int fd = connect_client();
	size_t length = 0;

	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	for (;;) {
		ssize_t n = recv(fd, answer + length, sizeof(answer) - 1 - length, 0);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			break;
		if (n > 0)
			length += (size_t)n;
		else
			(void)sd_event_run(m->event, 100000);
		assert_true(clock_now().mono_ns < end_ns);
	}
	answer[length] = '\0';
	answer_length = length;
	close(fd);
	return length > 0 ? atoi(answer + strlen("HTTP/1.1 ")) : 0;
}

struct row {
	const char *line, *body;
	int status; /* without a failure */
	/* Undoes the change, so that it can be repeated. NULL: a new daemon is needed. */
	void (*undo)(void);
};

/* A fixed range, so that the history does not grow between two requests. */
#define RANGE "?from=1700000000&to=2000000000"

static const struct row reads[] = {
	{"GET /v1/host", NULL, 200, NULL},
	{"GET /v1/gpus", NULL, 200, NULL},
	{"GET /v1/gpus/gpu0", NULL, 200, NULL},
	{"GET /v1/gpus/gpu0/history" RANGE, NULL, 200, NULL},
	{"GET /v1/vgpus", NULL, 200, NULL},
	{"GET /v1/vgpus?limit=1", NULL, 200, NULL},
	{"GET /v1/vgpus/a", NULL, 200, NULL},
	{"GET /v1/vgpus/none", NULL, 404, NULL},
	{"GET /v1/vgpus/a/history" RANGE "&step=86400", NULL, 200, NULL},
	{"GET /v1/alerts?all=true", NULL, 200, NULL},
	{"GET /v1/silences", NULL, 200, NULL},
	{"GET /v1/decisions", NULL, 200, NULL},
	{"GET /v1/decisions?vgpu=b", NULL, 200, NULL},
	{"GET /v1/offers?all=true", NULL, 200, NULL},
	{"GET /v1/economics" RANGE, NULL, 200, NULL},
	{"GET /v1/policy", NULL, 200, NULL},
	{"GET /v1/tokens", NULL, 200, NULL},
	{"GET /v1/audit", NULL, 200, NULL},
	{"GET /healthz", NULL, 200, NULL},
	{"GET /readyz", NULL, 200, NULL},
	{"GET /metrics", NULL, 200, NULL},
	{"GET /openapi.json", NULL, 200, NULL},
	{"GET /", NULL, 200, NULL},
	{"PUT /v1/host", NULL, 405, NULL},
	{"GET /v1/host?colour=red", NULL, 400, NULL},
	{"POST /v1/vgpus", "{\"id\": \"c\", \"initial_cap_pct\": \"x\"}", 422, NULL},
};

static void remove_c(void)
{
	(void)await_change(control_vgpu_remove(m, "c", at_end, &err));
}

static void restore_weight(void)
{
	const struct contract values = {.terms = {.weight = 1}};

	assert_int_equal(
		await_change(control_vgpu_change(m, "a", CONTRACT_WEIGHT, &values, at_end, &err)),
		0);
}

static void restore_cap(void)
{
	const struct contract values = {.terms = {.initial_cap_pct = 40}};

	assert_int_equal(await_change(control_vgpu_change(m, "a", CONTRACT_INITIAL_CAP, &values,
							  at_end, &err)),
			 0);
	tick(1);
}

static void release_a(void)
{
	const struct contract values = {.held = false};

	assert_int_equal(
		await_change(control_vgpu_change(m, "a", CONTRACT_HELD, &values, at_end, &err)), 0);
	tick(1);
}

static void remove_silences(void)
{
	while (m->silences.n > 0)
		assert_int_equal(await_change(control_silence_remove(m, m->silences.list[0].id,
								     at_end, &err)),
				 0);
}

static void restore_policy(void)
{
	json_t *values = json_pack("{s:i}", "lowload_pct", 60);

	assert_int_equal(await_change(control_policy_change(m, values, at_end, &err)), 0);
	json_decref(values);
}

static const struct row changes[] = {
	{"POST /v1/vgpus", "{\"id\": \"c\", \"initial_cap_pct\": 10}", 201, remove_c},
	{"PATCH /v1/vgpus/a", "{\"weight\": 2}", 200, restore_weight},
	{"PATCH /v1/vgpus/a", "{\"initial_cap_pct\": 30}", 200, restore_cap},
	{"PATCH /v1/vgpus/a", "{\"held\": true}", 200, release_a},
	{"DELETE /v1/vgpus/a", NULL, 204, NULL},
	{"PATCH /v1/gpus/gpu0", "{\"mode\": \"frozen\"}", 200, NULL},
	{"POST /v1/alerts/1/ack", NULL, 200, NULL},
	{"POST /v1/silences", silence, 201, remove_silences},
	{"POST /v1/offers/1/claim", "{\"id\": \"d\"}", 200, NULL},
	{"DELETE /v1/offers/1", NULL, 204, NULL},
	{"PATCH /v1/policy", "{\"lowload_pct\": 50}", 200, restore_policy},
	{"POST /v1/tokens", "{\"name\": \"t\", \"scope\": \"read\"}", 201, NULL},
};

static void format(const struct row *row, char text[REQUEST_MAX])
{
	static int number;
	char key[64] = "";

	if (strncmp(row->line, "POST /v1/vgpus", 14) == 0)
		snprintf(key, sizeof(key), "Idempotency-Key: %d\r\n", ++number);
	if (row->body)
		snprintf(text, REQUEST_MAX,
			 "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%sContent-Type: "
			 "application/json\r\nContent-Length: %zu\r\n\r\n%s",
			 row->line, key, strlen(row->body), row->body);
	else
		snprintf(text, REQUEST_MAX, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n",
			 row->line, accepts_gzip ? "Accept-Encoding: gzip\r\n" : "");
}

static bool is_expected(const struct row *row, int status)
{
	return status == 0 || status == row->status || status == 500 || status == 503 ||
	       status == 507;
}

/* Sends the request while the allocation @failing fails. Returns false if none has failed. */
static bool ask_without_memory(const struct row *row, long failing, int *ret_status)
{
	char text[REQUEST_MAX];
	bool failed;

	format(row, text);
	scarce_begin(failing, /* lasting= */ false);
	*ret_status = ask(text);
	failed = scarce_end();
	if (!is_expected(row, *ret_status) || (!failed && *ret_status != row->status))
		fail_msg("%s, allocation %ld: %s", row->line, failing, answer);
	assert_true(failing < ALLOCATIONS_MAX);
	return failed;
}

static int ask_row(const struct row *row)
{
	char text[REQUEST_MAX];

	format(row, text);
	return ask(text);
}

/* --- replies to requests that change nothing --- */

/* Copies the body of the answer without its digits, which depend on the time. */
static char *body_without_digits(void)
{
	const char *body = strstr(answer, "\r\n\r\n");
	size_t length = body ? answer_length - (size_t)(body + 4 - answer) : 0;
	char *text = strstr(answer, "Content-Encoding: gzip") ? unpack(body + 4, length)
							      : strdup(body ? body + 4 : "");
	char *to = text;

	assert_non_null(text);
	for (const char *c = text; *c; c++)
		if (!isdigit((unsigned char)*c))
			*to++ = *c;
	*to = '\0';
	return text;
}

/* A reply with status 200 is complete. */
static void a_reply_is_whole_or_an_error(void **state)
{
	(void)state;
	begin();
	for (size_t i = 0; i < ARRAY_SIZE(reads); i++) {
		/* metrics count the replies; the text of an error can be shorter */
		const bool same = reads[i].status == 200 && !strstr(reads[i].line, "metrics");
		CLEANUP_FREE char *whole = NULL;
		int status;

		assert_int_equal(ask_row(&reads[i]), reads[i].status);
		whole = body_without_digits();
		for (long failing = 1; ask_without_memory(&reads[i], failing, &status); failing++) {
			CLEANUP_FREE char *body = body_without_digits();

			if (same && status == 200 && strcmp(body, whole) != 0)
				fail_msg("%s, allocation %ld: %s", reads[i].line, failing, answer);
			observers_change(&m->observers, "gpu", "gpu0"); /* clears the caches */
		}
	}
	end();
}

/* Without memory for the compression, the reply is not compressed. */
static void a_compressed_reply_is_whole_or_an_error(void **state)
{
	accepts_gzip = true;
	a_reply_is_whole_or_an_error(state);
	accepts_gzip = false;
}

/* --- requests that change something --- */

#define BOOKS_MAX 4096

static void describe_books(char text[BOOKS_MAX])
{
	FILE *file = fmemopen(text, BOOKS_MAX, "w");

	assert_non_null(file);
	for (const struct vgpu *v = gpu->vgpus; v; v = v->next)
		fprintf(file, "vGPU %s: cap %d, contract %d, weight %.0f%s\n", v->contract.id,
			device(v->contract.id)->cap_pct, v->contract.terms.initial_cap_pct,
			v->contract.terms.weight, v->contract.held ? ", held" : "");
	/* other alerts are about the failed allocations */
	if (find_active_alert(ALERT_FOREIGN_WRITE, "b")->acked_ms)
		fprintf(file, "alert acknowledged\n");
	for (size_t i = 0; i < offers_count(m->offers); i++)
		fprintf(file, "offer: %s\n", offer_state_name(offers_at(m->offers, i)->life.state));
	fprintf(file, "mode %d, %d silences, low load %.0f %%, token %s\n", (int)gpu->mode,
		m->silences.n, m->params.lowload_pct,
		tokens_named(authn_tokens(authn), "t") ? "t" : "none");
	fclose(file);
}

/* Undoes the change of the last request. */
static void undo(const struct row *row, const char *before)
{
	char books[BOOKS_MAX];

	if (row->undo) {
		row->undo();
	} else {
		end();
		begin();
	}
	describe_books(books);
	assert_string_equal(books, before);
}

/* A request with an error reply may have made its change, but never a part of it. */
static void a_change_is_whole_or_missing(void **state)
{
	(void)state;
	skip_with_emulator();
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		char before[BOOKS_MAX], after[BOOKS_MAX], books[BOOKS_MAX];
		bool failed = true;
		int status;

		begin();
		describe_books(before);
		if (ask_row(&changes[i]) != changes[i].status)
			fail_msg("%s: %s", changes[i].line, answer);
		describe_books(after);
		assert_string_not_equal(before, after);
		for (long failing = 1; failed; failing++) {
			bool made;

			undo(&changes[i], before);
			failed = ask_without_memory(&changes[i], failing, &status);
			describe_books(books);
			made = strcmp(books, after) == 0;
			if ((!made && strcmp(books, before) != 0) ||
			    (!made && status == changes[i].status))
				fail_msg("%s, allocation %ld: status %d\n%sinstead of\n%s",
					 changes[i].line, failing, status, books, after);
		}
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_is_whole_or_an_error),
		cmocka_unit_test(a_compressed_reply_is_whole_or_an_error),
		cmocka_unit_test(a_change_is_whole_or_missing),
	};

	scarce.every_thread = true;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
