/* SPDX-License-Identifier: MIT */
/* The exported functions of libgover-double.so: see exports.map. */
#ifndef SIM_DOUBLE_EXPORTS_H
#define SIM_DOUBLE_EXPORTS_H

#include "sim/double/object.h"

cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *ret_n);

#endif
