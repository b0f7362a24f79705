/* SPDX-License-Identifier: MIT */
/* Follows the last write of a cap: until it is kept, and the pauses after lost writes. */
#include "base/clock.h"
#include "gover-d/model/kept-cap.h"

void kept_cap_note_write(struct kept_cap *kept, int before_pct, int written_pct)
{
	if (before_pct == written_pct)
		return;
	if (!kept->open)
		kept->base_pct = before_pct;
	kept->open = true;
	kept->readings = 0;
	kept->before_pct = before_pct;
	kept->written_pct = written_pct;
}

void kept_cap_note_reading(struct kept_cap *kept)
{
	if (!kept->open || ++kept->readings < KEPT_CAP_READINGS)
		return;
	kept->open = false;
	kept->n_lost = 0;
}

bool kept_cap_is_lost(const struct kept_cap *kept, int cap_pct, bool initial)
{
	return kept->open && (cap_pct == kept->before_pct || cap_pct == kept->base_pct || initial);
}

void kept_cap_note_loss(struct kept_cap *kept, int written_pct, uint64_t now_ns)
{
	uint64_t pause_s = KEPT_CAP_PAUSE_MAX_S;

	if (kept->n_lost < 6)
		pause_s = 1u << kept->n_lost;
	kept->open = false;
	kept->written_pct = written_pct;
	kept->n_lost++;
	kept->retry_ns = now_ns + pause_s * NS_PER_S;
}

bool kept_cap_waits(const struct kept_cap *kept, uint64_t now_ns)
{
	return kept->n_lost > 0 && (kept->open || now_ns < kept->retry_ns);
}
