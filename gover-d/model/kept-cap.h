/* SPDX-License-Identifier: MIT */
/*
 * Distinguishes a driver that acknowledges a cap and does not keep it from an external writer.
 * A write is lost if the cap read back differs from the written one, or if one of the next
 * KEPT_CAP_READINGS readings shows the cap before the write or the initial cap again. An external
 * writer that restores the old cap so soon looks the same. Any other cap is an external change.
 *
 * The daemon writes again after a pause: 1 s after the first lost write, twice as long after each
 * further one, at most KEPT_CAP_PAUSE_MAX_S. Pure: the caller passes the time.
 */
#ifndef GOVER_D_MODEL_KEPT_CAP_H
#define GOVER_D_MODEL_KEPT_CAP_H

#include <stdbool.h>
#include <stdint.h>

#define KEPT_CAP_READINGS    3
#define KEPT_CAP_PAUSE_MAX_S 60

/* The last write of a cap; zero-initialised for a new device. */
struct kept_cap {
	bool open;    /* the write was read back, and may still be lost */
	int readings; /* readings that have shown the written cap */
	int written_pct;
	int before_pct;	   /* cap before this write */
	int base_pct;	   /* cap before the first of several writes that are open */
	int n_lost;	   /* consecutive writes that were lost */
	uint64_t retry_ns; /* no write before this time; used if @n_lost is not 0 */
};

/* A cap was written and read back. */
void kept_cap_note_write(struct kept_cap *kept, int before_pct, int written_pct);
/* A later reading has shown the written cap. */
void kept_cap_note_reading(struct kept_cap *kept);
/* True if a reading of @cap_pct shows that the open write is lost. @initial: it is the initial cap.
 */
bool kept_cap_is_lost(const struct kept_cap *kept, int cap_pct, bool initial);
/* The write of @written_pct was acknowledged and is lost. */
void kept_cap_note_loss(struct kept_cap *kept, int written_pct, uint64_t now_ns);
/* True if the cap must not be written now: in a pause, and until the write after it is kept. */
bool kept_cap_waits(const struct kept_cap *kept, uint64_t now_ns);

#endif
