/* SPDX-License-Identifier: MIT */
/* Times in requests. */
#include <math.h>

#include "base/parse.h"
#include "base/rfc3339.h"
#include "gover-d/api/time.h"

#define SECONDS_MAX 253402300799.0 /* the end of the year 9999 */

int api_time_parse(const char *text, int64_t *ret_wall_ms)
{
	double seconds;

	if (parse_double(text, 0, SECONDS_MAX, &seconds) < 0)
		return rfc3339_parse(text, ret_wall_ms);
	*ret_wall_ms = llround(1000 * seconds);
	return 0;
}
