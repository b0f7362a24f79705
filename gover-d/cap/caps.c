/* SPDX-License-Identifier: MIT */
/* Determines the origin of a cap, and adopts caps that other programs set. */
#include <errno.h>
#include <string.h>

#include "gover-d/cap/caps.h"
#include "gover-d/util/log.h"

enum cap_origin {
	CAP_OWN, /* a cap that the daemon wrote */
	/* a new initial cap of a vGPU without a contract, set by another program */
	CAP_NEW_INITIAL,
	/* the initial cap, set by the end of a lease, by gover-d --restore or in a new device */
	CAP_INITIAL,
	CAP_FOREIGN,  /* a cap that another program wrote */
	CAP_NOT_KEPT, /* the driver has acknowledged the last write and did not keep it */
	/* the initial cap cannot be read now, or the device of the cap was removed */
	CAP_UNKNOWN,
};

/* @initial: the cap is the initial cap. */
static enum cap_origin judge_change(const struct vgpu *vgpu, int cap_pct, bool initial)
{
	return cap_write_is_lost(&vgpu->cap, cap_pct, initial) ? CAP_NOT_KEPT : CAP_FOREIGN;
}

/* @lease_over: the lease of the cap may have ended, or gover-d --restore may have run. */
static enum cap_origin judge(const struct actuator *actuator, const struct host_gpu *gpu,
			     const struct vgpu *vgpu, int cap_pct, bool lease_over)
{
	int sold_pct = vgpu->contract.terms.initial_cap_pct, initial_pct, r;

	/* The cap of a GPU that is only observed is a measure, which changes with its vGPUs. */
	if (gpu->traits.observes || actuate_is_ours(actuator, vgpu, cap_pct))
		return CAP_OWN;
	r = gpu_io_read_initial_cap(gpu->io, vgpu->device, &initial_pct);
	if (r == -ENODEV) /* the cap was that of a device which no longer exists */
		return CAP_UNKNOWN;
	if (r < 0 && r != -EOPNOTSUPP && r != -ENOENT && (lease_over || vgpu->found))
		return CAP_UNKNOWN;
	if (r == 0 && initial_pct == cap_pct) {
		if (vgpu->found && cap_percent(initial_pct) != sold_pct)
			return CAP_NEW_INITIAL;
		return lease_over ? CAP_INITIAL : judge_change(vgpu, cap_pct, true);
	}
	/* Without an initial cap, the first cap of a new device is its initial cap. */
	if (lease_over && (cap_pct == sold_pct || (r < 0 && vgpu->cap.anew)))
		return CAP_INITIAL;
	return judge_change(vgpu, cap_pct, false);
}

static void settle_journal(struct caps *caps, const struct vgpu *vgpu)
{
	if (!caps->settings->dry_run)
		cap_journal_settle(caps->actuator.journal, vgpu->contract.id,
				   vgpu->cap.expected_pct);
}

static void accept_initial(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu,
			   int found_pct, struct instant now)
{
	cap_take(&vgpu->cap, found_pct);
	settle_journal(caps, vgpu);
	vgpu_set_found_cap(vgpu, vgpu->cap.pct);
	record_decision(caps->recorder, gpu, vgpu, DECISION_FOUND, DECISION_NOTED, now,
			"the initial cap of vGPU %s, which has no contract, was set to %d %%; this "
			"cap counts as sold",
			vgpu->contract.id, vgpu->cap.pct);
}

/* The cap is written again after a pause. */
static void note_loss(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu, int found_pct,
		      struct instant now)
{
	cap_note_loss(&vgpu->cap, found_pct, now.mono_ns);
	settle_journal(caps, vgpu);
	host_gpu_check_caps(gpu);
	record_decision(caps->recorder, gpu, vgpu, DECISION_ADOPT, DECISION_FAILED, now,
			"the driver did not keep the cap of vGPU %s: %d %% was written and read "
			"back, and then the cap was %d %% again (lost writes in a row: %d)",
			vgpu->contract.id, vgpu->cap.write.written_pct, vgpu->cap.pct,
			vgpu->cap.write.n_lost);
}

static void hold(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu, int found_pct,
		 struct instant now)
{
	int last_pct = vgpu->cap.expected_pct;

	cap_note_foreign(&vgpu->cap, found_pct);
	settle_journal(caps, vgpu);
	vgpu_hold(vgpu, now);
	record_decision(
		caps->recorder, gpu, vgpu, DECISION_FOREIGN_WRITE, DECISION_NOTED, now,
		"the cap of vGPU %s was changed externally from %d to %d %%; the vGPU is on "
		"hold until it is released",
		vgpu->contract.id, last_pct, found_pct);
}

/*
 * Takes over a cap that the daemon did not write. The caller handles the other origins: CAP_OWN,
 * CAP_INITIAL and CAP_UNKNOWN.
 */
static enum cap_origin settle(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu,
			      int found_pct, bool lease_over, struct instant now)
{
	enum cap_origin origin = judge(&caps->actuator, gpu, vgpu, found_pct, lease_over);

	if (origin == CAP_NEW_INITIAL)
		accept_initial(caps, gpu, vgpu, found_pct, now);
	else if (origin == CAP_NOT_KEPT)
		note_loss(caps, gpu, vgpu, found_pct, now);
	else if (origin == CAP_FOREIGN)
		hold(caps, gpu, vgpu, found_pct, now);
	return origin;
}

void caps_hold_foreign_alert(struct alerts *alerts, const char *gpu, const struct vgpu *v,
			     int64_t now_ms)
{
	alerts_hold(alerts, ALERT_FOREIGN_WRITE, gpu, v, now_ms,
		    "the cap of vGPU %s was set to %d %% externally; the vGPU is on hold until "
		    "'gover-ctl vgpu release %s'",
		    v->contract.id, v->contract.held_cap_pct, v->contract.id);
}

/* Like settle(), for a vGPU that was adopted before. Also raises the alert and saves the contract.
 */
static enum cap_origin settle_adopted(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu,
				      int found_pct, bool lease_over, struct instant now)
{
	enum cap_origin origin = settle(caps, gpu, vgpu, found_pct, lease_over, now);

	if (origin == CAP_FOREIGN)
		caps_hold_foreign_alert(caps->recorder->alerts, gpu->config.name, vgpu,
					now.wall_ms);
	if (origin == CAP_FOREIGN || origin == CAP_NEW_INITIAL)
		save_soon(caps->store);
	return origin;
}

/*
 * Writes the last cap again, because the end of a lease or gover-d --restore has replaced it with
 * the initial cap, or because the device is a new one. This is done on a frozen GPU too, because
 * its caps were frozen at their last values. Returns 0 or the error of the write.
 */
static int restore_last_cap(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu,
			    int last_pct, struct instant now)
{
	enum decision_result result = DECISION_OBSERVED;
	const char *why = vgpu->cap.anew
				  ? "it was removed and created again"
				  : "a lease expired, gover-d --restore ran or it was created "
				    "again";
	int found_pct = vgpu->cap.pct, r = 0;

	if (caps->settings->dry_run) {
		result = DECISION_DRY_RUN;
	} else if (gpu->mode != GPU_MODE_OBSERVE) {
		r = actuate_cap(&caps->actuator, gpu, vgpu, cap_percent(last_pct), "adopt", now);
		result = r == 0 ? DECISION_WRITTEN : DECISION_FAILED;
	}
	record_decision(caps->recorder, gpu, vgpu, DECISION_ADOPT, result, now,
			"vGPU %s had its initial cap of %d %%, because %s; its last cap was %d %%, "
			"its cap is now %d %%",
			vgpu->contract.id, found_pct, why, last_pct, vgpu->cap.pct);
	return r;
}

void caps_adopt(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu, int found_pct,
		struct instant now)
{
	const char *id = vgpu->contract.id;
	int last_pct = found_pct, intent_pct;

	if (!caps->contracts_lost || !vgpu->found)
		(void)cap_journal_get(caps->actuator.journal, id, &last_pct, &intent_pct);
	cap_expect(&vgpu->cap, last_pct);
	cap_assume(&vgpu->cap, cap_percent(found_pct));
	switch (settle(caps, gpu, vgpu, found_pct, /* lease_over= */ true, now)) {
	case CAP_OWN:
		cap_expect(&vgpu->cap, found_pct);
		if (gpu->traits.observes)
			break; /* the cap is no state of the GPU */
		record_decision(caps->recorder, gpu, vgpu, DECISION_ADOPT, DECISION_NOTED, now,
				"vGPU %s was adopted with its cap of %d %% (contract %d %%%s)", id,
				vgpu->cap.pct, vgpu->contract.terms.initial_cap_pct,
				vgpu->contract.held ? ", held" : "");
		break;
	case CAP_INITIAL:
		cap_expect(&vgpu->cap, found_pct);
		if (restore_last_cap(caps, gpu, vgpu, last_pct, now) == -ENODEV)
			return; /* the journal keeps the last cap for the next device */
		break;
	case CAP_UNKNOWN:
		cap_set_unknown(&vgpu->cap, true); /* the next tick tries again */
		return;
	case CAP_NEW_INITIAL:
	case CAP_NOT_KEPT: /* does not occur: cap.write is that of this device */
	case CAP_FOREIGN:
		break;
	}
	cap_judged(&vgpu->cap);
	settle_journal(caps, vgpu);
}

/*
 * True if the lease of the cap may have ended before @read_ns, the time after the reading of the
 * cap: it was renewed late, this daemon does not renew it or never could, or an earlier reading was
 * not judged.
 */
static bool lease_may_be_over(const struct caps *caps, const struct host_gpu *gpu,
			      const struct vgpu *vgpu, bool gap, uint64_t read_ns)
{
	uint64_t lease_ns = (uint64_t)gpu->config.lease_ms * NS_PER_MS;

	return vgpu->cap.unknown || gap || caps->settings->dry_run ||
	       gpu->mode == GPU_MODE_OBSERVE ||
	       cap_lease_may_be_over(&vgpu->cap, lease_ns, read_ns);
}

/* The reading that began before @now may have taken this long. */
static uint64_t read_end_ns(struct instant now)
{
	return now.mono_ns + GPU_IO_WAIT_MS * NS_PER_MS;
}

static void rewrite_cap(struct caps *caps, struct host_gpu *gpu, struct vgpu *v, struct instant now)
{
	int last_pct = v->cap.expected_pct;

	cap_take(&v->cap, v->row.reading.cap_pct);
	if (gpu->mode != GPU_MODE_OBSERVE)
		(void)actuate_cap(&caps->actuator, gpu, v, cap_percent(last_pct), "lease", now);
}

void caps_check_sample(struct caps *caps, struct host_gpu *gpu, struct vgpu *v, bool gap,
		       struct instant now)
{
	enum cap_origin origin;
	bool lease_over;

	if (!v->device)
		return;
	cap_update_wait(&v->cap, now.mono_ns);
	if (!v->row.reading.cap_valid) {
		/* If this tick renews the lease, the next one cannot know that it had ended. */
		cap_set_unknown(&v->cap, lease_may_be_over(caps, gpu, v, gap, read_end_ns(now)));
		if (v->cap.unknown)
			host_gpu_check_caps(gpu);
		return;
	}
	lease_over = lease_may_be_over(caps, gpu, v, gap, v->cap_read_ns);
	cap_set_unknown(&v->cap, false);
	origin = settle_adopted(caps, gpu, v, v->row.reading.cap_pct, lease_over, now);
	if (origin == CAP_OWN) {
		cap_note_reading(&v->cap, v->row.reading.cap_pct);
	} else if (origin == CAP_INITIAL) {
		rewrite_cap(caps, gpu, v, now);
	} else if (origin == CAP_UNKNOWN) { /* the next period tries again */
		cap_assume(&v->cap, cap_percent(v->row.reading.cap_pct));
		cap_set_unknown(&v->cap, true);
		host_gpu_check_caps(gpu);
	}
	cap_judged(&v->cap);
}

void caps_note_lease(struct vgpu *v, const struct gpu_io_sample *sample)
{
	int r = 0;

	if (sample->renew_error == -ENODEV)
		return; /* a vGPU that has vanished is detected by its reading */
	if (sample->lease_ms >= 0)
		r = cap_note_lease(&v->cap, sample->lease_ms, sample->renew_error,
				   sample->renewed_ns);
	if (r < 0 && r != v->lease_errno)
		log_warning("vGPU %s: the lease of its cap cannot be renewed: %s", v->contract.id,
			    strerror(-r));
	v->lease_errno = r;
}

void caps_check_found(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu, int found_pct,
		      struct instant now)
{
	bool lease_over = lease_may_be_over(caps, gpu, vgpu, /* gap= */ false, read_end_ns(now));

	(void)settle_adopted(caps, gpu, vgpu, found_pct, lease_over, now);
}

int caps_check_now(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu, struct instant now,
		   struct err *reterr)
{
	int was_pct = vgpu->cap.expected_pct, found_pct;
	bool lease_over;

	if (!actuate_is_foreign(&caps->actuator, gpu, vgpu, &found_pct))
		return 0;
	lease_over = lease_may_be_over(caps, gpu, vgpu, /* gap= */ false, read_end_ns(now));
	switch (settle_adopted(caps, gpu, vgpu, found_pct, lease_over, now)) {
	case CAP_NEW_INITIAL:
	case CAP_NOT_KEPT:
		return 0;
	case CAP_OWN:
	case CAP_INITIAL:
	case CAP_UNKNOWN: /* after the end of a lease, the request may write the cap */
		cap_expect(&vgpu->cap, found_pct);
		host_gpu_check_caps(gpu); /* if it does not, the next period corrects the cap */
		return 0;
	case CAP_FOREIGN:
		break;
	}
	(void)err_condition(
		reterr, CONTROL_E_FOREIGN_CAP,
		"the cap of vGPU %s was just changed externally from %d to %d %%: the vGPU is on "
		"hold now and the request was not applied; repeat the request or release the vGPU",
		vgpu->contract.id, was_pct, found_pct);
	return 1;
}
