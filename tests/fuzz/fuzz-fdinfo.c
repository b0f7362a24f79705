/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the parser for the texts of DRM files, and the meter that uses its results. Accepted
 * values must be within their ranges. A client must not grow by a second reading of the same text.
 */
#include "gpu/drm/fdinfo.h"
#include "gpu/drm/truth.h"
#include "tests/fuzz/fuzz.h"

static void check_info(const struct fdinfo *info)
{
	struct meter meter = {.primed = false};
	struct meter_growth growth;

	FUZZ_CHECK(info->driver[0] && strlen(info->driver) < FDINFO_NAME_MAX);
	FUZZ_CHECK(strlen(info->pdev) < FDINFO_NAME_MAX);
	FUZZ_CHECK(info->n_engines >= 0 && info->n_engines <= FDINFO_ENGINES_MAX);
	for (int i = 0; i < info->n_engines; i++) {
		const struct fdinfo_engine *engine = &info->engines[i];

		FUZZ_CHECK(engine->name[0] && strlen(engine->name) < FDINFO_NAME_MAX);
		FUZZ_CHECK(engine->busy_valid || engine->cycles_valid);
		FUZZ_CHECK(engine->capacity >= 1 && engine->capacity <= 1024);
	}
	meter_advance(&meter, info, 1000000000, /* is_new= */ true, &growth);
	for (int i = 0; i < growth.n_engines; i++)
		FUZZ_CHECK(growth.engines[i].ns >= 0 && growth.engines[i].ns <= 1e9);
	meter_advance(&meter, info, 1000000000, /* is_new= */ false, &growth);
	for (int i = 0; i < growth.n_engines; i++)
		FUZZ_CHECK(growth.engines[i].ns <= 0 && growth.engines[i].ns >= 0);
}

FUZZ(fdinfo)
{
	/* AddressSanitizer detects a read beyond this copy. */
	CLEANUP_FREE char *exact = malloc(size + !size), *text = fuzz_text(data, size);
	struct fdinfo info, again;
	uint64_t bytes;
	int r;

	FUZZ_CHECK(exact);
	if (size > 0)
		memcpy(exact, data, size);
	r = fdinfo_parse(exact, size, &info);
	FUZZ_CHECK(r <= 0);
	if (r == 0) {
		FUZZ_CHECK(fdinfo_parse(exact, size, &again) == 0);
		FUZZ_CHECK(memcmp(&info.memory_bytes, &again.memory_bytes, sizeof(bytes)) == 0);
		check_info(&info);
	}
	FUZZ_CHECK(truth_parse_dmem(text, "0000:03:00.0", &bytes) <= 0);
	return 0;
}
