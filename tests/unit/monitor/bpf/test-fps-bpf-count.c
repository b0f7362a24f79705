/* SPDX-License-Identifier: MIT */
/* fps_bpf_bucket(), which does not use the instruction clz, returns the same bucket as
 * fps_wire_bucket(). */
#include "monitor/bpf/count.h"
#include "tests/unit/unit.h"

TEST(the_bpf_program_and_the_library_use_the_same_buckets)
{
	uint64_t random = 1;

	for (int bit = 0; bit < 64; bit++)
		for (int64_t off = -2; off <= 2; off++) {
			uint64_t ns = (1ULL << bit) + (uint64_t)off;

			assert_int_equal(fps_bpf_bucket(ns), fps_wire_bucket(ns));
		}
	for (int octave = 0; octave < 17; octave++)
		for (uint64_t edge = 99999; edge < 200002; edge++)
			assert_int_equal(fps_bpf_bucket(edge << octave),
					 fps_wire_bucket(edge << octave));
	for (int i = 0; i < 1000000; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		assert_int_equal(fps_bpf_bucket(random >> (random & 63)),
				 fps_wire_bucket(random >> (random & 63)));
	}
}
