/* SPDX-License-Identifier: MIT */
/*
 * Counts and paces frames. Without pacing, each frame takes longer by about one read of the clock.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "base/preload/debug.h"
#include "base/preload/sandbox.h"
#include "fps-preload/connection.h"
#include "fps-preload/frame.h"
#include "fps-preload/limit.h"
#include "fps-preload/shared-page.h"

#define NS_PER_S 1000000000ull

/* Written by the constructor, constant afterwards. */
static bool counting;
static uint64_t period_ns;

/*
 * The frame rate limit that the daemon has set, as the minimum time of a frame (at most 1 s); 0: no
 * limit. Written by limit_set().
 */
static uint32_t limit_ns;

/* The limit applies to each thread separately, so no lock is needed. */
static __thread __attribute__((tls_model("initial-exec"))) struct {
	uint64_t presented;
	struct pace pace;
} self;

static void log_invalid(const struct setup *setup)
{
	/* A debug line is a system call. */
	if (!setup->debug || !sandbox_start(debug_log_end))
		return;
	if (setup->invalid_fps)
		debug_log("GOVER_FPS: invalid value '%.100s', no frame is counted (allowed: "
			  "unix:PATH, vsock:CID:PORT, port:NAME, off)",
			  setup->invalid_fps);
	if (setup->invalid_fps_max)
		debug_log("GOVER_FPS_MAX: invalid value '%.100s', ignored (allowed: %d to %d)",
			  setup->invalid_fps_max, PACE_MIN_FPS, PACE_MAX_FPS);
}

bool frame_setup(const struct setup *setup)
{
	if (setup->invalid_fps || setup->invalid_fps_max)
		log_invalid(setup);
	if (setup->transport == SETUP_OFF && setup->period_ns == 0)
		return false;
	if (!sandbox_start(debug_log_end))
		return false;
	if (setup->transport != SETUP_OFF) {
		connection_setup(setup, &limit_ns);
		counting = true;
	}
	period_ns = setup->period_ns;
	return true;
}

uint64_t frame_begin(void)
{
	if (counting)
		shared_page_begin_present();
	return self.presented;
}

static void wait_until(uint64_t at_ns)
{
	const struct timespec at = {.tv_sec = (time_t)(at_ns / NS_PER_S),
				    .tv_nsec = (long)(at_ns % NS_PER_S)};
	int cancel_state;

	/*
	 * Disable cancellation: clock_nanosleep() is a cancellation point, but the hooked functions
	 * are not.
	 */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		continue;
	(void)pthread_setcancelstate(cancel_state, NULL);
}

bool frame_end(uint64_t begin, unsigned int frames)
{
	struct timespec now;
	uint64_t now_ns, wanted_ns, at_ns;

	if (counting)
		shared_page_end_present();
	if (self.presented != begin || frames == 0)
		return false; /* already counted by an inner hook, or the present failed */
	self.presented++;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	if (counting)
		shared_page_count_frames(now_ns, frames);
	wanted_ns = __atomic_load_n(&limit_ns, __ATOMIC_RELAXED);
	if (wanted_ns < period_ns)
		wanted_ns = period_ns;
	if (wanted_ns == 0)
		return true;
	at_ns = pace_next(&self.pace, wanted_ns, now_ns);
	if (at_ns && sandbox_allows_calls())
		wait_until(at_ns);
	return true;
}
