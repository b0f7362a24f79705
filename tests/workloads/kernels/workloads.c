/* SPDX-License-Identifier: MIT */
/*
 * The table of the workloads of gover-kernels. A workload is a kernel in cl/, a file and a row
 * here, and a row in tests/scenario/compute/cl-programs.sh.
 */
#include "tests/workloads/kernels/workloads.h"

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
