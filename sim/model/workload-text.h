/* SPDX-License-Identifier: MIT */
/* The parsed form of the text of a workload. Internal to workload*.c. */
#ifndef SIM_MODEL_WORKLOAD_TEXT_H
#define SIM_MODEL_WORKLOAD_TEXT_H

#include "sim/model/workload-model.h"

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
