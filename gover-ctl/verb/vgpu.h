/* SPDX-License-Identifier: MIT */
/* The verbs `vgpu ...`, and `freeze`, `thaw` and `drain` of GPUs. */
#ifndef GOVER_CTL_VERB_VGPU_H
#define GOVER_CTL_VERB_VGPU_H

#include "gover-ctl/shared/ctl.h"

enum ctl_exit verb_vgpu_list(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_vgpu_show(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_vgpu_add(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_vgpu_set(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_vgpu_remove(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_vgpu_hold(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_vgpu_release(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_gpu_freeze(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_gpu_thaw(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_gpu_drain(struct ctl *ctl, const struct args *args);

#endif
