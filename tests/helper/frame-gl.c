/* SPDX-License-Identifier: MIT */
/*
 * Link: -shared -fPIC -O0 -Wl,-Bsymbolic -Wl,-soname,libfake-gl.so.1 -Wl,--default-symver
 *
 * fake-gl without optimisation: like those of real libraries its functions start with a push, which
 * determines the cost of a kernel probe, and call each other without tail calls.
 */
#include "tests/helper/fake-gl.c"
