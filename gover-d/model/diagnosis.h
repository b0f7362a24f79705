/* SPDX-License-Identifier: MIT */
/* The explanation of the service of one vGPU (diagnosis/diagnosis.h), as of the last tick. */
#ifndef GOVER_D_MODEL_DIAGNOSIS_H
#define GOVER_D_MODEL_DIAGNOSIS_H

#include "policy/promise/promise.h"

#define DIAGNOSIS_TEXT_MAX    480
#define DIAGNOSIS_FIX_MAX     240
#define DIAGNOSIS_COMMAND_MAX 128

struct diagnosis {
	char text[DIAGNOSIS_TEXT_MAX]; /* begins with the id of the vGPU; "": not explained yet */
	enum promise_cause cause;      /* PROMISE_NO_CAUSE: the cause is not known, or none */
	/*
	 * The members below are of the last period in which the cause applied, so that their
	 * numbers belong to the cause.
	 */
	char why[DIAGNOSIS_TEXT_MAX];	     /* the part of the text about the cause */
	char fix[DIAGNOSIS_FIX_MAX];	     /* "": there is nothing to fix */
	char command[DIAGNOSIS_COMMAND_MAX]; /* "": there is nothing to do */
};

#endif
