/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the bytes that a client sends on a connection. The result must not depend on the division
 * of the bytes: the first byte of the input is the size of the parts. No byte is accepted after a
 * refusal, and a refused request can be completed.
 */
#include "gover-d/http/request-scan.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t feed_parts(struct request_scan *scan, const char *bytes, size_t size, size_t part)
{
	size_t fed = 0, n;

	while (fed < size) {
		n = part < size - fed ? part : size - fed;
		if (request_scan_feed(scan, bytes + fed, n) < n)
			FUZZ_CHECK(scan->refusal);
		if (scan->refusal)
			break;
		fed += n;
	}
	return fed;
}

static void check_refusal(struct request_scan *scan, const char *bytes, size_t size)
{
	char text[128];
	size_t n;

	FUZZ_CHECK(scan->refusal->status >= 400 && scan->refusal->status < 600);
	FUZZ_CHECK(request_scan_refusal(scan, scan->refused) == scan->refusal);
	FUZZ_CHECK(request_scan_feed(scan, bytes, size) == 0);
	n = request_scan_complete(scan, text, sizeof(text));
	FUZZ_CHECK(n > 0 && n < sizeof(text) && text[n - 1] == '\n');
	FUZZ_CHECK(request_scan_complete(scan, text, sizeof(text)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request_scan whole = {0}, parts = {0};
	const char *bytes = (const char *)data + 1;
	size_t accepted;

	if (size < 2 || data[0] == 0)
		return 0;
	size--;
	accepted = request_scan_feed(&whole, bytes, size);
	FUZZ_CHECK(accepted <= size && (accepted == size) == !whole.refusal);
	(void)feed_parts(&parts, bytes, size, data[0]);
	FUZZ_CHECK(parts.refusal == whole.refusal && parts.refused == whole.refused);
	FUZZ_CHECK(parts.n_heads == whole.n_heads && parts.state == whole.state);
	for (uint64_t i = 1; i <= whole.n_heads; i++)
		FUZZ_CHECK((whole.refusal && whole.refused == i) ||
			   !request_scan_refusal(&whole, i));
	if (whole.refusal)
		check_refusal(&whole, bytes, size);
	return 0;
}
