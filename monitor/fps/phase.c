/* SPDX-License-Identifier: MIT */
/*
 * A rate from a count is wrong by up to one frame at each end of the period, that is 10 FPS if the
 * period is 200 ms. The parts of the frames at both ends correct it. A sum over several periods is
 * not changed by more than one frame, because the part at the end of a period is that at the begin
 * of the next.
 */
#include "base/clock.h"
#include "monitor/fps/phase.h"

#define PAUSE_NS NS_PER_S

double fps_phase_take(struct fps_phase *phase, uint64_t frames, uint64_t newest_ns, uint64_t now_ns)
{
	uint64_t passed_ns;

	if (frames > 0) {
		if (phase->newest_ns > 0 && newest_ns > phase->newest_ns)
			phase->interval_ns = (newest_ns - phase->newest_ns) / frames;
		if (phase->interval_ns > PAUSE_NS)
			phase->interval_ns = 0;
		phase->newest_ns = newest_ns;
	}
	if (phase->interval_ns == 0 || now_ns <= phase->newest_ns)
		return 0;
	passed_ns = now_ns - phase->newest_ns;
	return passed_ns < phase->interval_ns ? (double)passed_ns / (double)phase->interval_ns : 1;
}
