/* SPDX-License-Identifier: MIT */
/*
 * fake-gl without optimisation. As in real libraries, each function starts with a push
 * instruction and makes no tail call. The first instruction determines the cost of a kernel probe.
 */
#include "tests/helper/fake-gl.c"
