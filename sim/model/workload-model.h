/* SPDX-License-Identifier: MIT */
/* The table of workload models, and the parsed text of a workload. Internal to workload*.c. */
#ifndef SIM_MODEL_WORKLOAD_MODEL_H
#define SIM_MODEL_WORKLOAD_MODEL_H

#include "sim/model/workload.h"

/* Bits of workload_model.takes: groups of keys that a model accepts. */
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
	/* GPU and CPU time of a frame; 0: a key or shape() sets this time */
	double gpu_ms, cpu_ms;
	/* returns the GPU time of a frame at @t_ns, in ms; NULL: constant */
	double (*shape)(uint64_t t_ns);
	uint64_t cycle_ns; /* period of shape; 0: shape is not periodic */
	/* Returns the next frame. NULL: each frame needs gpu_ms (or shape()) and cpu_ms. */
	struct workload_frame (*next_frame)(struct workload_run *run, uint64_t now_ns);
	/* Returns the demand since *@demand. Only for WORKLOAD_LOAD. */
	double (*demand_ns)(const struct workload *workload, struct workload_demand *demand,
			    uint64_t to_ns);
};

extern const struct workload_model workload_models[]; /* the last row has a NULL name */

/*
 * The result of parsing a text: the workload and, for a trace, the values of the keys for which
 * struct workload has no field.
 */
struct workload_text {
	struct workload workload;
	char file[WORKLOAD_TEXT_MAX];
	double offset_s; /* negative: not set */
	double length_s; /* 0: not set */
	double gap_s;
	bool may_have_gaps;
};

/* Parses the workload @text. -EINVAL with a message. */
int workload_text_read(const char *text, struct workload_text *ret_text, struct err *reterr);

#endif
