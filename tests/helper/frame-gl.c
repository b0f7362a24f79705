/* SPDX-License-Identifier: MIT */
/*
 * Link: -shared -fPIC -O0 -Wl,-Bsymbolic -Wl,-soname,libfake-gl.so.1 -Wl,--default-symver
 *
 * fake-gl, not optimised: its functions begin as those of real libraries do, with a push, on which
 * hangs what a probe in the kernel costs, and they call each other rather than to jump.
 */
#include "tests/helper/fake-gl.c"
