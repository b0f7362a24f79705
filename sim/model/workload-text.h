/* SPDX-License-Identifier: MIT */
/* What the files of the workloads share among themselves; nobody else includes it. */
#ifndef SIM_MODEL_WORKLOAD_TEXT_H
#define SIM_MODEL_WORKLOAD_TEXT_H

#include "sim/model/workload.h"

/* Which keys a model takes. */
#define TAKES_FRAME  (1u << 0)
#define TAKES_SCALE  (1u << 1)
#define TAKES_PACING (1u << 2)
#define TAKES_SEED   (1u << 3)
#define TAKES_VSYNC  (1u << 4)
#define TAKES_LOAD   (1u << 5)
#define TAKES_SQUARE (1u << 6)
#define TAKES_BURST  (1u << 7)
#define TAKES_TRACE  (1u << 8)

struct workload_model {
	const char *name;
	enum workload_kind kind;
	unsigned int takes;
	double gpu_ms, cpu_ms;		/* of a frame; 0: given by keys, or by shape */
	double (*shape)(uint64_t t_ns); /* GPU ms of a frame that begins at its time @t_ns */
	uint64_t cycle_ns;		/* after which the shape begins anew; 0: has none */
	/* NULL: frames that cost what the above says. */
	struct workload_frame (*next_frame)(struct workload_run *run, uint64_t now_ns);
	/* Of WORKLOAD_LOAD. */
	double (*demand_ns)(const struct workload *workload, struct workload_demand *demand,
			    uint64_t to_ns);
};

extern const struct workload_model workload_models[]; /* one without a name ends it */

/* A text as it was read. Of a trace there is more than the workload holds. */
struct workload_text {
	struct workload workload;
	char file[WORKLOAD_TEXT_MAX];
	double offset_s; /* below 0: none given */
	double length_s; /* 0: none given */
	double gap_s;
	bool may_have_gaps;
};

/* -EINVAL with a sentence. */
int workload_text_read(const char *text, struct workload_text *ret_text, struct err *reterr);

#endif
