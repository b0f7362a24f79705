/* SPDX-License-Identifier: MIT */
/*
 * The cap of one vGPU, its origin and its lease, and whether the driver keeps it. Pure: the caller
 * reads and writes the GPU and passes the time. Only cap.c and this header change a struct cap. A
 * cap as a GPU reports it is 0 without a limit; such a value is named @found_pct here.
 *
 * A driver may acknowledge a cap and not keep it. A write is lost if the cap read back differs from
 * the written one, or if one of the next CAP_READINGS readings shows the cap before the write or
 * the initial cap again. An external writer that restores the old cap so soon looks the same. Any
 * other cap is an external change. The daemon writes again after a pause: 1 s after the first lost
 * write, twice as long after each further one, at most CAP_PAUSE_MAX_S.
 */
#ifndef GOVER_D_MODEL_CAP_H
#define GOVER_D_MODEL_CAP_H

#include <stdbool.h>
#include <stdint.h>

#define CAP_READINGS	3
#define CAP_PAUSE_MAX_S 60

enum cap_lease {
	CAP_LEASE_NONE,
	CAP_LEASE_RUNS,
	CAP_LEASE_ENDED, /* by the daemon */
	/* the daemon could not set a lease; a lease of another program may end */
	CAP_LEASE_UNKNOWN,
};

struct cap {
	/*
	 * last read or written; 100 without a limit. While the vGPU does not exist: the cap that is
	 * reserved for its return
	 */
	int pct;
	int expected_pct; /* last written, as the GPU reports it; another one is external */
	bool unknown;	  /* the origin of the cap is unknown; its lease may have ended */
	bool foreign;	  /* the vGPU is on hold because of an external change */
	bool waits;	  /* in this tick, no policy changes the cap, see above */
	/* the device was created again under this id, and its first cap is not judged yet */
	bool anew;
	uint64_t identity; /* of the device attached last (gpu_ops.identity); 0: unknown */
	enum cap_lease lease;
	uint64_t renewed_ns; /* time of the last renewal, if the lease runs */
	/* the last write; zero-initialised for a new device */
	struct {
		bool open;    /* it was read back, and may still be lost */
		int readings; /* readings that have shown the written cap */
		int written_pct;
		int before_pct;	   /* cap before this write */
		int base_pct;	   /* cap before the first of several writes that are open */
		int n_lost;	   /* consecutive writes that were lost */
		uint64_t retry_ns; /* no write before this time; used if @n_lost is not 0 */
	} write;
};

static inline int cap_percent(int found_pct)
{
	return found_pct == 0 ? 100 : found_pct;
}

/* A device was attached. @identity: as struct cap. */
void cap_begin(struct cap *cap, uint64_t identity);
/* The device vanished. */
void cap_end(struct cap *cap);

/* @pct is in force or reserved, as far as is known. What was written last stays expected. */
void cap_assume(struct cap *cap, int pct);
/* The next reading should be @found_pct. */
void cap_expect(struct cap *cap, int found_pct);
/* @found_pct is in force and should stay. */
static inline void cap_take(struct cap *cap, int found_pct)
{
	cap->expected_pct = found_pct;
	cap->pct = cap_percent(found_pct);
}

/* @to_pct was written and acknowledged, and then @found_pct was read. Call cap_take() after it. */
void cap_note_write(struct cap *cap, int to_pct, int found_pct, uint64_t now_ns);
/* A reading has shown a cap of the daemon. */
static inline void cap_note_reading(struct cap *cap, int found_pct)
{
	cap_take(cap, found_pct);
	if (!cap->write.open || ++cap->write.readings < CAP_READINGS)
		return;
	cap->write.open = false;
	cap->write.n_lost = 0;
}

/* True if a reading of @found_pct shows that the last write is lost. @initial: the initial cap. */
bool cap_write_is_lost(const struct cap *cap, int found_pct, bool initial);
/* The last write is lost, and @found_pct is in force. */
void cap_note_loss(struct cap *cap, int found_pct, uint64_t now_ns);
/* Sets cap->waits: true in a pause, and until the write after it is kept. */
static inline void cap_update_wait(struct cap *cap, uint64_t now_ns)
{
	cap->waits = cap->write.n_lost > 0 && (cap->write.open || now_ns < cap->write.retry_ns);
}

/* An external writer has set @found_pct. */
void cap_note_foreign(struct cap *cap, int found_pct);
/* A hold because of an external change continues (@foreign), or has ended. */
void cap_set_foreign(struct cap *cap, bool foreign);
static inline void cap_set_unknown(struct cap *cap, bool unknown)
{
	cap->unknown = unknown;
}

/* The first cap of the device was judged, unless it is unknown. */
static inline void cap_judged(struct cap *cap)
{
	cap->anew = cap->anew && cap->unknown;
}

/*
 * Stores the @result of a renewal to @lease_ms (0: an end) that began at @renewed_ns. Returns 0, or
 * @result if it is an error other than -EOPNOTSUPP.
 */
int cap_note_lease(struct cap *cap, int lease_ms, int result, uint64_t renewed_ns);
/* True if a lease of @lease_ns may have ended before @read_ns, the time after a reading. */
static inline bool cap_lease_may_be_over(const struct cap *cap, uint64_t lease_ns, uint64_t read_ns)
{
	return cap->lease == CAP_LEASE_UNKNOWN ||
	       (cap->lease == CAP_LEASE_RUNS && read_ns > cap->renewed_ns + lease_ns);
}

#endif
