/* SPDX-License-Identifier: MIT */
/* Measures the GPU time of frames with timestamp queries in the host program's GL context. */
#ifndef FPS_PRELOAD_GPUTIME_H
#define FPS_PRELOAD_GPUTIME_H

enum gputime_api { GPUTIME_GLX, GPUTIME_EGL };

/*
 * Call before and after each call of a function that presents, in the same thread. The time of a
 * frame becomes known a few frames later and is then added to the shared page. A context without
 * timestamp queries or object labels is not measured. Both functions keep errno and the GL error.
 */
void gputime_before(enum gputime_api api);
void gputime_after(enum gputime_api api);

#endif
