/* SPDX-License-Identifier: MIT */
/* The states of a cap. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "gover-d/model/cap.h"

void cap_begin(struct cap *cap, uint64_t identity)
{
	*cap = (struct cap){
		.pct = cap->pct,
		.expected_pct = cap->expected_pct,
		.foreign = cap->foreign,
		.anew = cap->identity && identity != cap->identity,
		.identity = identity,
	};
}

void cap_end(struct cap *cap)
{
	cap->lease = CAP_LEASE_NONE;
	cap->renewed_ns = 0;
}

void cap_assume(struct cap *cap, int pct)
{
	cap->pct = pct;
}

void cap_expect(struct cap *cap, int found_pct)
{
	cap->expected_pct = found_pct;
}

/* --- writes --- */

static void lose_write(struct cap *cap, int written_pct, uint64_t now_ns)
{
	uint64_t pause_s = CAP_PAUSE_MAX_S;

	if (cap->write.n_lost < 6)
		pause_s = 1u << cap->write.n_lost;
	cap->write.open = false;
	cap->write.written_pct = written_pct;
	cap->write.n_lost++;
	cap->write.retry_ns = now_ns + pause_s * NS_PER_S;
}

static void open_write(struct cap *cap, int written_pct)
{
	if (cap->expected_pct == written_pct)
		return;
	if (!cap->write.open)
		cap->write.base_pct = cap->expected_pct;
	cap->write.open = true;
	cap->write.readings = 0;
	cap->write.before_pct = cap->expected_pct;
	cap->write.written_pct = written_pct;
}

void cap_note_write(struct cap *cap, int to_pct, int found_pct, uint64_t now_ns)
{
	if (found_pct == to_pct)
		open_write(cap, to_pct);
	else
		lose_write(cap, to_pct, now_ns);
	cap_update_wait(cap, now_ns);
}

bool cap_write_is_lost(const struct cap *cap, int found_pct, bool initial)
{
	return cap->write.open &&
	       (found_pct == cap->write.before_pct || found_pct == cap->write.base_pct || initial);
}

void cap_note_loss(struct cap *cap, int found_pct, uint64_t now_ns)
{
	cap_take(cap, found_pct);
	lose_write(cap, cap->write.written_pct, now_ns);
	cap_update_wait(cap, now_ns);
}

/* --- origin --- */

void cap_note_foreign(struct cap *cap, int found_pct)
{
	cap_take(cap, found_pct);
	memset(&cap->write, 0, sizeof(cap->write));
	cap->foreign = true;
}

void cap_set_foreign(struct cap *cap, bool foreign)
{
	cap->foreign = foreign;
}

/* --- the lease --- */

int cap_note_lease(struct cap *cap, int lease_ms, int result, uint64_t renewed_ns)
{
	if (result == -EOPNOTSUPP)
		return 0;
	if (result < 0) {
		if (cap->lease != CAP_LEASE_RUNS)
			cap->lease = CAP_LEASE_UNKNOWN;
		return result;
	}
	cap->lease = lease_ms ? CAP_LEASE_RUNS : CAP_LEASE_ENDED;
	cap->renewed_ns = lease_ms ? renewed_ns : 0;
	return 0;
}
