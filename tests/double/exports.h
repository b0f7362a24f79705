/* SPDX-License-Identifier: MIT */
/* The exported functions of libgover-double.so: see exports.map. */
#ifndef TESTS_DOUBLE_EXPORTS_H
#define TESTS_DOUBLE_EXPORTS_H

#include "tests/double/object.h"

cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *ret_n);

#endif
