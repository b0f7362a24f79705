/* SPDX-License-Identifier: MIT */
/* Checks the URLs of the configuration. */
#include <curl/curl.h>
#include <strings.h>

#include "gover-d/util/url.h"

bool url_is_http(const char *url)
{
	size_t scheme = strncasecmp(url, "https://", 8) == 0  ? 8
			: strncasecmp(url, "http://", 7) == 0 ? 7
							      : 0;
	CURLU *parsed = curl_url();
	bool valid;

	if (!parsed)
		return false;
	valid = scheme > 0 && curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK;
	curl_url_cleanup(parsed);
	return valid;
}
