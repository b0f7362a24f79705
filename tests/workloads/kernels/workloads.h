/* SPDX-License-Identifier: MIT */
/* The workloads of gover-kernels and their kernel sources, which embed.S takes from cl/. */
#ifndef TESTS_WORKLOADS_KERNELS_WORKLOADS_H
#define TESTS_WORKLOADS_KERNELS_WORKLOADS_H

#include "tests/workloads/kernels/load.h"

extern const char source_matmul[];
extern const char source_blackscholes[];
extern const char source_stencil[];
extern const char source_many[];
extern const char source_scan[];
extern const char source_histogram[];
extern const char source_reduction[];
extern const char source_nbody[];
extern const char source_long[];
extern const char source_bfs[];

extern const struct workload workload_matmul;
extern const struct workload workload_blackscholes;
extern const struct workload workload_stencil;
extern const struct workload workload_many;
extern const struct workload workload_scan;
extern const struct workload workload_histogram;
extern const struct workload workload_reduction;
extern const struct workload workload_nbody;
extern const struct workload workload_long;
extern const struct workload workload_bfs;

#endif
