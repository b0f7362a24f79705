/* SPDX-License-Identifier: MIT */
/* How long the GPU works on a frame, by timestamp queries in the host program's own context. */
#ifndef FPS_PRELOAD_GPUTIME_H
#define FPS_PRELOAD_GPUTIME_H

enum gputime_api { GPUTIME_GLX, GPUTIME_EGL };

/*
 * Around a function that presents, in the thread whose context is current. What the GPU took for a
 * frame is picked up, once it is known, after a later one, and counted in the page. A context
 * without timestamp queries and object labels is left alone. Keeps errno and the GL error.
 */
void gputime_before(enum gputime_api api);
void gputime_after(enum gputime_api api);

#endif
