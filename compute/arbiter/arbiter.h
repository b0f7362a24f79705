/* SPDX-License-Identifier: MIT */
/*
 * The arbiter of a compute device: decides which tenant may submit work now, and how much. The
 * device is one non-preemptive queue, so that at most one tenant has the turn. Sources: FairGV
 * (IEEE TPDS 2017) sections 3.2 and 3.3, VMCG (IEEE TPDS 2018) sections 4 and 5, SliVER (2023)
 * section 3.4; design.md section 8.
 *
 * A turn is the right to submit work for a slice of device time. Its life:
 *
 *	arbiter_pick() --> RUN --> DRAIN --> arbiter_end_turn()
 *
 * RUN: the holder may submit one more unit while the device time used in this turn plus its
 * predicted work in flight is less than the slice, and the predicted work in flight alone is less
 * than in_flight_ns. So an over-run is at most one unit.
 *
 * DRAIN: the holder must submit nothing more. The caller withdraws the grant, waits until the work
 * in flight has finished, charges it, calls arbiter_end_turn() and picks again. It must not end the
 * turn before the holder has confirmed the withdrawal. If the drain takes too long,
 * arbiter_pick() revokes the turn by itself.
 *
 * The caller reports requests, the predicted work in flight, device time and signs of life of each
 * tenant, in any order and at any time, and calls arbiter_pick() after each change and not later
 * than arbiter_next_event_ns(). It can poll: between two calls nothing changes. Reports may be
 * false. A false report of one tenant changes the share of that tenant, but no other tenant waits
 * longer than twice the slice + lease_ns for the end of a turn, and the time that a holder wastes
 * counts like time that it used (arbiter_tenant::wasted_ns).
 *
 * Pure: no clock, I/O, allocation or floating point, no function of libc. The caller owns every
 * struct, passes the time (any monotonic clock; a time before the last one counts as the last one)
 * and does the locking. A tenant must not move in memory while it is added. All times are in ns.
 */
#ifndef COMPUTE_ARBITER_ARBITER_H
#define COMPUTE_ARBITER_ARBITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARBITER_WEIGHT_MIN     1
#define ARBITER_WEIGHT_DEFAULT 100
#define ARBITER_WEIGHT_MAX     10000
#define ARBITER_CHARGE_MAX_NS  600000000000ULL /* of one call: ten minutes */
#define ARBITER_NEVER	       UINT64_MAX

/*
 * Length of a round of capped turns. A capped tenant gets a turn when its cap has allotted
 * cap x round, at most one slice. This is also the most that an idle tenant saves.
 */
#define ARBITER_ROUND_NS 20000000ULL
/* A tenant that waits for others saves at most cap x window (the same for a guarantee). */
#define ARBITER_WINDOW_NS 100000000ULL

/* What a tenant is entitled to. Values out of range count as the nearest limit. */
struct arbiter_share {
	unsigned int weight; /* 1..10000; 0: ARBITER_WEIGHT_DEFAULT */
	/* 1..100: hard limit in percent of the device's time, in every discipline; 0: no limit */
	unsigned int cap_pct;
	unsigned int guarantee_pct; /* 0..100; discipline guarantee only */
};

/* What VMCG measures of a tenant (Table 1). All 0: not measured. */
struct arbiter_load {
	uint32_t blocks;	     /* NUM_i: units that wait in the tenant's queue */
	uint32_t bandwidth_permille; /* BW_i / BW, 0..1000 */
	uint32_t memory_permille;    /* MSIZE_i / MSIZE, 0..1000 */
	uint64_t cpu_ns;	     /* host CPU time of the tenant in the last period */
};

/* Settings of an arbiter. A member that is 0 means the default, in parentheses. */
struct arbiter_options {
	uint64_t slice_ns;     /* device time of a turn (6 ms: FairGV 3.2.1) */
	uint64_t stretch_ns;   /* slice of a tenant while no other can run (100 ms) */
	uint64_t in_flight_ns; /* bound of the predicted work in flight (12 ms) */
	/* A holder without a sign of life for this long, or that drains for longer, loses its turn,
	 * if another tenant can run (80 ms). So does a holder without a sign of life since its turn
	 * began when the time of the turn is over. */
	uint64_t lease_ns;
	/* An idle holder keeps its turn for a time that adapts to its gaps, within these limits
	 * (0.1 ms, 0.5 ms): hybrid spinning, FairGV 3.2.2. */
	uint64_t hold_min_ns, hold_max_ns;
	/* A gap between work longer than a limit that adapts within these is a real idle period,
	 * after which a tenant has no claim to the past (2 ms, 20 ms). */
	uint64_t idle_min_ns, idle_max_ns;
};

struct arbiter;
struct arbiter_discipline;

/* One tenant. Callers only read this struct. The second part belongs to the disciplines. */
struct arbiter_tenant {
	struct arbiter_tenant *next, *prev; /* neighbours in the ring arbiter::last */
	struct arbiter_share share;	    /* in force, within the ranges */
	struct arbiter_load load;
	bool wants;		/* it has work that waits or runs */
	bool stalled;		/* its turn was revoked; no sign of life since */
	bool unfinished;	/* its turn was revoked with work in flight, not yet finished */
	bool suspect;		/* its last contended turn wasted half a lease or more */
	uint64_t in_flight_ns;	/* predicted work in flight, as last reported */
	uint64_t seen_ns;	/* time of the last sign of life */
	uint64_t changed_at_ns; /* time at which @wants last changed */
	uint64_t delay_ns;	/* part of the present gap that does not count as idle */
	uint64_t gap_ns;	/* smoothed length of its short gaps */
	uint64_t wait_ns;	/* cumulative time in which it wanted the device without a turn */
	uint64_t busy_ns;	/* cumulative device time charged */
	uint64_t units;		/* cumulative units finished */
	uint64_t turns;		/* turns begun */
	uint64_t revoked;	/* turns revoked */
	uint64_t wasted_ns; /* cumulative time in contended turns without use of the device, except
			     * short gaps; it counts in the tag or credit, as if it were used */
	uint64_t over_run_ns; /* cumulative device time beyond the slice of its turns */

	int64_t cap_budget;	  /* in percent x ns; see ARBITER_ROUND_NS */
	int64_t guarantee_budget; /* the same */
	bool guaranteed;	  /* its last turn was taken from the guarantee */
	bool boosted;		  /* credit: it woke with credit left */
	uint64_t tag;		  /* fair: start tag */
	uint64_t order;		  /* fcfs: place in the queue */
	int64_t credit;		  /* credit: ns; vmcg: dispatches of four units */
	uint64_t blocks;	  /* vmcg: units since the last dispatch that was paid */
	uint64_t round;		  /* vmcg: last round in which it had a turn */
};

enum arbiter_state {
	ARBITER_FREE,  /* no tenant has the turn */
	ARBITER_RUN,   /* the holder may submit */
	ARBITER_DRAIN, /* the holder must not submit; its work in flight finishes */
};

/* Why a turn drains or has ended. */
enum arbiter_reason {
	ARBITER_REASON_NONE,
	ARBITER_REASON_SLICE,	/* the slice is used, or its time is over */
	ARBITER_REASON_CAP,	/* the budget of the cap is used */
	ARBITER_REASON_IDLE,	/* the holder had no work for longer than its limit */
	ARBITER_REASON_YIELDED, /* arbiter_end_turn() in state RUN */
	ARBITER_REASON_REVOKED, /* lease over */
	ARBITER_REASON_REMOVED,
};

/* The turn: all that a grant contains. */
struct arbiter_turn {
	struct arbiter_tenant *tenant; /* NULL in state FREE */
	enum arbiter_state state;
	enum arbiter_reason reason; /* in state DRAIN, and in FREE for the turn before */
	uint64_t id;		    /* increases with each turn; the first is 1 */
	uint64_t slice_ns;	    /* device time of the whole turn; can grow and shrink in it */
	uint64_t used_ns;	    /* device time charged in this turn */
	uint64_t in_flight_ns;	    /* bound of the holder's predicted work in flight */
	uint32_t units;		    /* units that the turn may submit in all; 0: no limit */
	uint32_t units_in_flight;   /* units in flight at most; 0: no limit */
	uint32_t units_used;	    /* units charged in this turn */
	uint64_t began_ns;
	uint64_t drains_since_ns; /* state DRAIN */
	uint64_t idle_ns;	  /* time in state RUN in which the holder had no work */
};

/* One device. Callers only read this struct. */
struct arbiter {
	const struct arbiter_discipline *discipline;
	struct arbiter_options options; /* in force, without zeros */
	struct arbiter_tenant *last; /* the tenant of the last turn in the ring; NULL: no tenants */
	struct arbiter_turn turn;
	uint64_t now_ns;
	uint64_t busy_ns;	      /* sum of all charges */
	uint64_t busy_before_ns;      /* the same when the present turn began */
	uint64_t in_flight_before_ns; /* work in flight of the holder when its turn began */
	unsigned int n_tenants;
	unsigned int guarantee_pct; /* sum of all guarantees */
	uint64_t base_ns;	    /* slice of the present turn if another tenant can run */
	bool contended;		    /* as of the last pick: a tenant without the turn can run */
	uint64_t contended_since_ns;

	uint64_t virtual_ns;   /* fair: the least tag of the active tenants, never decreasing */
	uint64_t order;	       /* fcfs: last place in the queue */
	uint64_t refill_at_ns; /* credit: next refill */
	uint64_t round;	       /* vmcg */
	int64_t credit_pool;   /* vmcg: credits of idle tenants, to be transferred */
};

/*
 * The disciplines: "fair", "cap", "guarantee", "credit", "vmcg", "rr", "fcfs". The first row is the
 * default. A row without a name ends the table.
 */
struct arbiter_discipline {
	const char *name;
	const char *text; /* what it does, in one line, for help texts */
	/* Whether the device never idles while a tenant without a cap has work. */
	bool work_conserving;
	const struct arbiter_rule *rule; /* private */
};

extern const struct arbiter_discipline arbiter_disciplines[];

/* Returns the row with that name, or NULL. */
const struct arbiter_discipline *arbiter_discipline_find(const char *name);

/* Initializes @arbiter without tenants. @discipline, @options NULL: the defaults. */
void arbiter_start(struct arbiter *arbiter, const struct arbiter_discipline *discipline,
		   const struct arbiter_options *options, uint64_t now_ns);

/*
 * Changes the discipline. All claims to the past (tags, credits, budgets) end; the present turn
 * drains.
 */
void arbiter_set_discipline(struct arbiter *arbiter, const struct arbiter_discipline *discipline,
			    uint64_t now_ns);

/* Sets arbiter_options::slice_ns from the next turn on. 0: the default. */
void arbiter_set_slice(struct arbiter *arbiter, uint64_t slice_ns, uint64_t now_ns);

/* Adds @tenant without work and with all counters 0. @share NULL: default weight, no cap. */
void arbiter_add(struct arbiter *arbiter, struct arbiter_tenant *tenant,
		 const struct arbiter_share *share, uint64_t now_ns);

/* Removes @tenant and ends its turn at once. The caller can then free @tenant. */
void arbiter_remove(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t now_ns);

/* Changes the share from now on, also in the turn of @tenant. */
void arbiter_set_share(struct arbiter *arbiter, struct arbiter_tenant *tenant,
		       const struct arbiter_share *share, uint64_t now_ns);

/* Sets the measured load of @tenant, for the next round of discipline vmcg. */
void arbiter_set_load(struct arbiter_tenant *tenant, const struct arbiter_load *load);

/*
 * @tenant has work that waits or runs. @in_flight_ns: predicted device time of its work that was
 * submitted and is not finished, 0 if none. Call again when the prediction changes. A sign of life.
 */
void arbiter_want(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t in_flight_ns,
		  uint64_t now_ns);

/* @tenant has no work that waits or runs. A sign of life. */
void arbiter_idle(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t now_ns);

/*
 * For @ns of its present gap, @tenant was not idle but prevented from submitting: its host thread
 * was runnable and did not run (run_delay of /proc/PID/schedstat), or the driver compiled a kernel.
 * This time does not count as idle. Call before the arbiter_want() that ends the gap.
 */
void arbiter_excuse(struct arbiter_tenant *tenant, uint64_t ns);

/*
 * Charges @tenant for @device_ns of device time and @units finished units, in its turn or not. The
 * charge is what the device was really busy for @tenant, however long the slice was. Leave out
 * what was not work of the device, for example the compilation at a first launch. @device_ns above
 * ARBITER_CHARGE_MAX_NS counts as that. A sign of life if @units > 0.
 */
void arbiter_charge(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t device_ns,
		    uint32_t units, uint64_t now_ns);

/*
 * Decides, and copies the turn to *@ret_turn (NULL: not wanted). Returns whether a tenant has the
 * turn. The turn stays the same while its id is the same; its state, slice and limits may have
 * changed. A turn that was revoked here is followed by the next one at once: the caller must
 * withdraw the grant of an id that is no longer the present one.
 */
bool arbiter_pick(struct arbiter *arbiter, uint64_t now_ns, struct arbiter_turn *ret_turn);

/*
 * Ends the turn, after its work has finished (state DRAIN) or because the holder gives it back
 * (state RUN). No effect in state FREE. The caller picks again.
 */
void arbiter_end_turn(struct arbiter *arbiter, uint64_t now_ns);

/*
 * Returns the time at which arbiter_pick() could decide something else although nothing is
 * reported, not before the last time passed; ARBITER_NEVER: it could not. Call after
 * arbiter_pick(). In state RUN this is also the earliest end of the slice, so that a caller which
 * reads the used time from memory reads it in time.
 */
uint64_t arbiter_next_event_ns(const struct arbiter *arbiter);

/*
 * Returns the weight of a niceness (SliVER 3.4.3) from -20 to 19: 100 for 0, and a factor of 1.25 a
 * step, as the CPU scheduler of Linux has it.
 */
unsigned int arbiter_weight_of_nice(int nice);

#endif
