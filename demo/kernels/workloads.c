/* SPDX-License-Identifier: MIT */
/* The table of the workloads of gover-kernels. */
#include "demo/kernels/workloads.h"

const struct workload *const load_workloads[] = {
	&workload_matmul,
	&workload_blackscholes,
	&workload_stencil,
	&workload_many,
	&workload_scan,
	&workload_histogram,
	&workload_reduction,
	&workload_nbody,
	&workload_long,
	&workload_bfs,
	NULL,
};
