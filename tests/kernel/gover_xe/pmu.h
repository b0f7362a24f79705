/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The PMU of a GPU. */
#ifndef TESTS_KERNEL_GOVER_XE_PMU_H
#define TESTS_KERNEL_GOVER_XE_PMU_H

#include <linux/pci.h>

#include "gpu.h"

struct counters;

/* Registers the PMU of @gpu, which is named after @pdev. Returns it or an error pointer. */
struct counters *pmu_add(struct gpu *gpu, struct pci_dev *pdev);
void pmu_remove(struct counters *counters);

#endif
