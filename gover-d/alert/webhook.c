/* SPDX-License-Identifier: MIT */
/*
 * A thread posts the oldest message with libcurl and waits for the reply. A message that was not
 * delivered is sent again before any newer message. The lock is not held during a transfer, so that
 * the event loop never waits for the receiver.
 */
#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "gover-d/alert/webhook.h"

#define STOP_NS	 NS_PER_S
#define PAUSE_NS NS_PER_S /* pause before the second try */

struct message {
	struct message *next; /* next message in the list webhook.first */
	char *body;
	int64_t replaces;
	uint64_t given_ns;
	int tries;
};

struct webhook {
	CURL *curl; /* used by the thread only */
	struct curl_slist *headers;
	pthread_t thread;
	bool started;
	bool ended; /* the thread does nothing any more */
	/* The lock guards the fields below. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct message *first;
	bool sending;	  /* the first message is being sent: do not replace or drop it */
	uint64_t next_ns; /* monotonic time of the next try; 0: now */
	uint64_t stop_ns; /* monotonic time at which transfers are aborted; 0: not stopping */
	struct webhook_stats stats;
};

enum outcome { SENT, AGAIN, REFUSED };

/* --- the thread --- */

static size_t discard(char *data, size_t size, size_t n, void *userdata)
{
	(void)data;
	(void)userdata;
	return size * n;
}

/* libcurl calls this function at least once a second. A nonzero result aborts the transfer. */
static int on_progress(void *userdata, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
		       curl_off_t up)
{
	struct webhook *w = userdata;
	bool stop;

	(void)down_total, (void)down, (void)up_total, (void)up;
	pthread_mutex_lock(&w->lock);
	stop = w->stop_ns && clock_now().mono_ns >= w->stop_ns;
	pthread_mutex_unlock(&w->lock);
	return stop;
}

/*
 * Decides whether the message was delivered, must be sent again, or must be dropped because the
 * error is permanent.
 */
static enum outcome judge(CURLcode code, long status, char problem[256])
{
	if (code != CURLE_OK) {
		snprintf(problem, 256, "%s", curl_easy_strerror(code));
		return AGAIN;
	}
	if (status >= 200 && status < 300) {
		problem[0] = '\0';
		return SENT;
	}
	snprintf(problem, 256, "the receiver returned HTTP status %ld", status);
	return status >= 500 || status == 408 || status == 425 || status == 429 ? AGAIN : REFUSED;
}

static enum outcome post(struct webhook *w, const char *body, char problem[256])
{
	long status = 0;
	CURLcode code;

	curl_easy_setopt(w->curl, CURLOPT_POSTFIELDS, body);
	code = curl_easy_perform(w->curl);
	curl_easy_getinfo(w->curl, CURLINFO_RESPONSE_CODE, &status);
	return judge(code, status, problem);
}

static void drop_first(struct webhook *w)
{
	struct message *message = w->first;

	w->first = message->next;
	w->stats.waiting--;
	free(message->body);
	free(message);
}

static uint64_t pause_after(int tries)
{
	int doublings = tries - 1 < 6 ? tries - 1 : 6;
	uint64_t pause_ns = PAUSE_NS << doublings;

	return pause_ns < WEBHOOK_PAUSE_MAX_S * NS_PER_S ? pause_ns
							 : WEBHOOK_PAUSE_MAX_S * NS_PER_S;
}

static void settle(struct webhook *w, enum outcome outcome, const char *problem)
{
	uint64_t now_ns = clock_now().mono_ns;

	w->sending = false;
	memcpy(w->stats.problem, problem, sizeof(w->stats.problem));
	w->stats.failed_tries = outcome == SENT ? 0 : w->stats.failed_tries + 1;
	w->next_ns = 0;
	if (outcome == AGAIN && now_ns - w->first->given_ns < WEBHOOK_GIVE_UP_S * NS_PER_S) {
		w->next_ns = now_ns + pause_after(w->first->tries);
		return;
	}
	w->stats.sent += outcome == SENT;
	w->stats.refused += outcome == REFUSED;
	w->stats.dropped += outcome == AGAIN;
	w->stats.lost = outcome == SENT ? 0 : w->stats.lost + 1;
	drop_first(w);
}

/*
 * Returns false when the thread must end. While stopping, each message gets at most one more try.
 */
static bool wait_for_message(struct webhook *w)
{
	for (;;) {
		uint64_t now_ns = clock_now().mono_ns;

		if (w->stop_ns)
			return w->first && now_ns < w->stop_ns;
		if (w->first && now_ns >= w->next_ns)
			return true;
		if (w->first) {
			struct timespec until = {
				.tv_sec = (time_t)(w->next_ns / NS_PER_S),
				.tv_nsec = (long)(w->next_ns % NS_PER_S),
			};

			(void)pthread_cond_timedwait(&w->wake, &w->lock, &until);
		} else {
			(void)pthread_cond_wait(&w->wake, &w->lock);
		}
	}
}

static void *run_thread(void *arg)
{
	struct webhook *w = arg;

	pthread_mutex_lock(&w->lock);
	while (wait_for_message(w)) {
		char problem[sizeof(w->stats.problem)] = "";
		struct message *message = w->first;
		enum outcome outcome;

		w->stats.retried += message->tries++ > 0;
		w->sending = true;
		pthread_mutex_unlock(&w->lock);
		outcome = post(w, message->body, problem);
		pthread_mutex_lock(&w->lock);
		settle(w, outcome, problem);
		if (w->stop_ns && outcome == AGAIN)
			break;
	}
	w->ended = true;
	pthread_cond_signal(&w->wake); /* webhook_free() waits for it */
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* --- the loop --- */

static void set_up_curl(struct webhook *w, const char *url, int timeout_s)
{
	w->curl = curl_easy_init();
	w->headers = curl_slist_append(NULL, "Content-Type: application/json");
	if (!w->curl || !w->headers || curl_easy_setopt(w->curl, CURLOPT_URL, url) != CURLE_OK)
		xalloc_fail(0);
	curl_easy_setopt(w->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(w->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(w->curl, CURLOPT_POST, 1L);
	curl_easy_setopt(w->curl, CURLOPT_HTTPHEADER, w->headers);
	curl_easy_setopt(w->curl, CURLOPT_USERAGENT, "gover-d/" GOVER_VERSION);
	curl_easy_setopt(w->curl, CURLOPT_TIMEOUT_MS, timeout_s * 1000L);
	curl_easy_setopt(w->curl, CURLOPT_WRITEFUNCTION, discard);
	curl_easy_setopt(w->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(w->curl, CURLOPT_XFERINFODATA, w);
	curl_easy_setopt(w->curl, CURLOPT_NOPROGRESS, 0L);
}

int webhook_new(const char *url, int timeout_s, struct webhook **ret_webhook, struct err *reterr)
{
	struct webhook *w = xcalloc(1, sizeof(*w));
	pthread_condattr_t monotonic;
	int r;

	(void)pthread_mutex_init(&w->lock, NULL); /* cannot fail with default attributes */
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&w->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	(void)curl_global_init(CURL_GLOBAL_DEFAULT); /* without it, curl_easy_init() fails */
	set_up_curl(w, url, timeout_s);
	r = thread_start(&w->thread, run_thread, w, "gover-webhook");
	w->started = r >= 0;
	if (r < 0) {
		webhook_free(w);
		return err_fail(reterr, -r, "[alerts] webhook: %s", strerror(-r));
	}
	*ret_webhook = w;
	return 0;
}

/* Ends the thread. Returns false if it does not end in time. */
static bool stop_thread(struct webhook *w)
{
	uint64_t now_ns = clock_now().mono_ns, until_ns = now_ns + STOP_NS + NS_PER_S / 2;
	struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S),
				 .tv_nsec = (long)(until_ns % NS_PER_S)};
	bool ended;

	pthread_mutex_lock(&w->lock);
	w->stop_ns = now_ns + STOP_NS;
	pthread_cond_signal(&w->wake);
	while (!w->ended && pthread_cond_timedwait(&w->wake, &w->lock, &until) != ETIMEDOUT)
		;
	ended = w->ended;
	pthread_mutex_unlock(&w->lock);
	if (ended)
		(void)pthread_join(w->thread, NULL);
	return ended;
}

struct webhook *webhook_free(struct webhook *w)
{
	if (!w)
		return NULL;
	/*
	 * A DNS lookup cannot be aborted. In this case the thread keeps running, and its memory is
	 * not freed.
	 */
	if (w->started && !stop_thread(w))
		return NULL;
	while (w->first)
		drop_first(w);
	curl_easy_cleanup(w->curl);
	curl_slist_free_all(w->headers);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return NULL;
}

/*
 * Returns the waiting message that was queued with the same @replaces. Returns NULL if there is
 * none or @replaces is 0.
 */
static struct message *find_replaced(struct webhook *w, int64_t replaces)
{
	struct message *message = w->sending ? w->first->next : w->first;

	while (message && (replaces == 0 || message->replaces != replaces))
		message = message->next;
	return message;
}

/* If the queue is full, drops the oldest message that is not being sent. */
static void make_room(struct webhook *w)
{
	struct message **at = w->sending ? &w->first->next : &w->first, *oldest = *at;

	if (w->stats.waiting < WEBHOOK_WAITING_MAX)
		return;
	*at = oldest->next;
	free(oldest->body);
	free(oldest);
	w->stats.waiting--;
	w->stats.dropped++;
	w->stats.lost++;
}

static void append(struct webhook *w, struct message *message)
{
	struct message **at = &w->first;

	make_room(w);
	while (*at)
		at = &(*at)->next;
	*at = message;
	w->stats.waiting++;
}

void webhook_send(struct webhook *w, char *body, int64_t replaces)
{
	struct message *message;

	pthread_mutex_lock(&w->lock);
	message = find_replaced(w, replaces);
	if (message) {
		free(message->body);
		message->body = body;
	} else {
		message = xcalloc(1, sizeof(*message));
		message->body = body;
		message->replaces = replaces;
		message->given_ns = clock_now().mono_ns;
		append(w, message);
		pthread_cond_signal(&w->wake);
	}
	pthread_mutex_unlock(&w->lock);
}

void webhook_stats(struct webhook *w, struct webhook_stats *ret_stats)
{
	pthread_mutex_lock(&w->lock);
	*ret_stats = w->stats;
	pthread_mutex_unlock(&w->lock);
}
