/* SPDX-License-Identifier: MIT */
/* Fuzzes the XML of libvirt domains. An accepted document has a name, a UUID and a valid wish. */
#include <string.h>

#include "gover-fleet/model/domain-xml.h"
#include "tests/fuzz/fuzz.h"

FUZZ(domain_xml)
{
	struct domain_wish wish;
	struct err err = {""};
	int r = domain_xml_parse((const char *)data, size, &wish, &err);

	if (r < 0) {
		FUZZ_CHECK(err.msg[0]);
		return 0;
	}
	FUZZ_CHECK(wish.name[0] && strlen(wish.uuid) == HOST_STATE_UUID_MAX - 1);
	FUZZ_CHECK(id_valid(wish.uuid) && (!wish.gpu[0] || id_valid(wish.gpu)));
	FUZZ_CHECK(wish.n_devices >= 0 && wish.n_devices <= DOMAIN_DEVICES_MAX);
	for (int i = 0; i < wish.n_devices; i++)
		FUZZ_CHECK(id_valid(wish.devices[i]));
	FUZZ_CHECK((wish.kind == DOMAIN_WANTS_SLOT) ==
		   (strncmp(wish.slot, WANTED_CLASS_PREFIX, strlen(WANTED_CLASS_PREFIX)) == 0));
	return 0;
}
