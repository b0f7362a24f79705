/* SPDX-License-Identifier: MIT */
/*
 * The table of alerts. A new alert needs a row in this table, and code in tick/tick-alerts.c that
 * reports its condition.
 */
#ifndef GOVER_D_ALERT_KINDS_H
#define GOVER_D_ALERT_KINDS_H

/*
 * Number of periods without the condition after which an alert is cleared. Each comment gives the
 * reason for the number.
 */
#define ALERT_CLEAR_LOAD    60 /* the load of a game changes about every ten seconds */
#define ALERT_CLEAR_READING 10 /* a failing reading or report may succeed now and then */
/* an operator or a program ends the condition, so it rarely returns */
#define ALERT_CLEAR_STATE   3
#define ALERT_CLEAR_PROMISE 1 /* the windows of policy/promise/ already delay the end */

/*
 * ALERT(name in the code, name, severity, periods until it is raised, periods until it is cleared,
 *       meaning, next command with %s for the vGPU)
 */
/* clang-format off */
#define ALERT_TABLE(ALERT) \
	ALERT(PROMISE_BROKEN, "promise_broken", CRITICAL, 1, ALERT_CLEAR_PROMISE, \
	      "the vGPU did not get what its contract promises for too much of the time", \
	      "gover-ctl why %s") \
	ALERT(SEVERE_OVERLOAD, "severe_overload", CRITICAL, 1, ALERT_CLEAR_LOAD, \
	      "two or more vGPUs are overloaded, and all vGPUs together want more than the GPU: " \
	      "migrate one", \
	      "gover-ctl why %s") \
	ALERT(GPU_STALLED, "gpu_stalled", CRITICAL, 1, ALERT_CLEAR_STATE, \
	      "two or more vGPUs with live programs stopped at once, and the GPU has served no " \
	      "vGPU since: it may hang", \
	      "journalctl -k -n 50") \
	ALERT(CONTRACT_LIMIT, "contract_limit", INFO, 3, ALERT_CLEAR_LOAD, \
	      "the vGPU uses all that its contract allows: the customer may want a larger " \
	      "contract", \
	      "gover-ctl why %s") \
	ALERT(HELD_OVERLOADED, "held_overloaded", WARNING, 3, ALERT_CLEAR_LOAD, \
	      "the vGPU is overloaded, but an operator holds its cap", \
	      "gover-ctl why %s") \
	ALERT(FROZEN_LONG, "frozen_long", INFO, 1, ALERT_CLEAR_STATE, \
	      "an operator froze the GPU more than a day ago: its caps do not change, and nothing " \
	      "is sold", \
	      "gover-ctl status") \
	ALERT(HELD_LONG, "held_long", INFO, 1, ALERT_CLEAR_STATE, \
	      "the vGPU has been on hold for more than a day: the policy does not change its cap", \
	      "gover-ctl vgpu release %s") \
	ALERT(QOS_NOT_GPU_BOUND, "qos_not_gpu_bound", INFO, 3, ALERT_CLEAR_LOAD, \
	      "the vGPU is below its target without using its cap: the cause is inside the " \
	      "guest or program", \
	      "gover-ctl why %s") \
	ALERT(FPS_MISSING, "fps_missing", WARNING, 5, ALERT_CLEAR_READING, \
	      "the vGPU has a target but reports no frames or units of work", \
	      "gover-ctl vgpu show %s") \
	ALERT(SUM_OVER_100, "sum_over_100", WARNING, 2, ALERT_CLEAR_STATE, \
	      "the caps add up to more than 100 %: a cap no longer guarantees its share of " \
	      "GPU time", \
	      "gover-ctl vgpu list") \
	ALERT(FOREIGN_WRITE, "foreign_write", WARNING, 1, ALERT_CLEAR_STATE, \
	      "another program changed the cap: the vGPU is on hold until it is released", \
	      "gover-ctl why %s") \
	ALERT(VGPU_MISSING, "vgpu_missing", CRITICAL, 2, ALERT_CLEAR_STATE, \
	      "the vGPU has a contract but does not exist on the GPU", \
	      "gover-ctl vgpu show %s") \
	ALERT(TELEMETRY_STALE, "telemetry_stale", CRITICAL, 2, ALERT_CLEAR_READING, \
	      "busy time cannot be read: gover-d neither steals nor sells on this GPU", \
	      "gover-ctl doctor") \
	ALERT(WRITE_FAILED, "write_failed", CRITICAL, 1, ALERT_CLEAR_STATE, \
	      "a cap or a memory limit could not be written", \
	      "gover-ctl why %s") \
	ALERT(HISTORY_FAILING, "history_failing", WARNING, 1, ALERT_CLEAR_STATE, \
	      "the database cannot be written; control continues without history", \
	      "gover-ctl doctor") \
	ALERT(HISTORY_DAMAGED, "history_damaged", WARNING, 1, ALERT_CLEAR_STATE, \
	      "a damaged file of the state directory was set aside and has not been removed; a " \
	      "new file is in use", \
	      "gover-ctl doctor") \
	ALERT(OUT_OF_MEMORY, "out_of_memory", WARNING, 1, ALERT_CLEAR_STATE, \
	      "gover-d ended because memory was exhausted, and was started again", \
	      "journalctl -u gover-d -n 50") \
	ALERT(CONTRACTS_UNSAVED, "contracts_unsaved", CRITICAL, 1, ALERT_CLEAR_STATE, \
	      "the contracts file cannot be written: requests that change something fail", \
	      "gover-ctl doctor") \
	ALERT(SALE_FAILED, "sale_failed", WARNING, 1, ALERT_CLEAR_STATE, \
	      "a new vGPU failed its probation: migrate this vGPU", \
	      "gover-ctl offers --all") \
	ALERT(WEBHOOK_FAILING, "webhook_failing", WARNING, 2, ALERT_CLEAR_STATE, \
	      "the webhook receiver is unreachable or rejects alerts", \
	      "gover-ctl alerts") \
	ALERT(FPS_OVER_LIMIT, "fps_over_limit", WARNING, 1, ALERT_CLEAR_STATE, \
	      "programs cannot report frames, because their vGPU or user has too many " \
	      "connections", \
	      "gover-ctl vgpu show %s") \
	ALERT(SOCKET_UNUSABLE, "socket_unusable", WARNING, 1, ALERT_CLEAR_STATE, \
	      "a socket of gover-d cannot be made: no program can connect to it", \
	      "gover-ctl doctor") \
	ALERT(CAP_UNREADABLE, "cap_unreadable", WARNING, 5, ALERT_CLEAR_READING, \
	      "the cap in force cannot be read: external changes of it are not noticed", \
	      "gover-ctl vgpu show %s") \
	ALERT(TOKENS_UNREADABLE, "tokens_unreadable", CRITICAL, 1, ALERT_CLEAR_STATE, \
	      "the token file cannot be read: every token is rejected", \
	      "gover-ctl token list") \
	ALERT(CERTIFICATE_UNREADABLE, "certificate_unreadable", WARNING, 1, ALERT_CLEAR_STATE, \
	      "the files of the TLS certificate have changed and cannot be used", \
	      "gover-ctl doctor") \
	ALERT(UTILIZATION_UNKNOWN, "utilization_unknown", WARNING, 10, ALERT_CLEAR_STATE, \
	      "intel_gpu_top gives no samples: the physical utilisation of the GPU is unknown", \
	      "gover-ctl doctor") \
	ALERT(VGPU_NOT_ADOPTED, "vgpu_not_adopted", WARNING, 3, ALERT_CLEAR_STATE, \
	      "a vGPU exists on the GPU, but gover-d cannot use it: its cap counts nowhere", \
	      "gover-ctl doctor") \
	ALERT(VGPU_UNSOLD, "vgpu_unsold", WARNING, 3, ALERT_CLEAR_READING, \
	      "an unsold vGPU takes capacity from contracts", \
	      "gover-ctl vgpu show %s") \
	ALERT(FLEET_UNREACHABLE, "fleet_unreachable", WARNING, 2, ALERT_CLEAR_STATE, \
	      "gover-fleet cannot reach the cloud: its capacity there is not updated", \
	      "journalctl -u gover-fleet -n 20") \
	ALERT(FLEET_GONE, "fleet_gone", WARNING, 1, ALERT_CLEAR_STATE, \
	      "gover-fleet does not report any more: nothing claims offers for the cloud", \
	      "systemctl status gover-fleet") \
	ALERT(FLEET_LEAK, "fleet_leak", WARNING, 2, ALERT_CLEAR_STATE, \
	      "the cloud has more allocations than this host has contracts and offers: it sells " \
	      "no further vGPU of this flavour", \
	      "journalctl -u gover-fleet -n 20") \
	ALERT(FLEET_UNVERIFIED, "fleet_unverified", WARNING, 2, ALERT_CLEAR_STATE, \
	      "virtual machines have contracts that the cloud has not confirmed", \
	      "journalctl -u gover-fleet -n 20")
/* clang-format on */

#define ALERT_KIND(kind, ...) ALERT_##kind,
enum alert_kind { ALERT_TABLE(ALERT_KIND) ALERT_KINDS };
#undef ALERT_KIND

#endif
