/* SPDX-License-Identifier: MIT */
/*
 * The vGPU in the XML of a libvirt domain. The parser reads the elements that it needs and ignores
 * all others. Its input is bounded in size and depth, and contains no entities.
 *
 * A domain wants a vGPU if its metadata contains one of these:
 *   <gover:vgpu flavor="NAME" gpu="GPU"/>, gpu is optional
 *   Nova's extra specs with resources:CUSTOM_GOVER_SLOT_<FLAVOUR> = 1
 * The metadata of an older Nova contains no extra specs: only the cloud knows the allocation.
 */
#ifndef GOVER_FLEET_MODEL_DOMAIN_XML_H
#define GOVER_FLEET_MODEL_DOMAIN_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/id.h"
#include "gover-fleet/model/host-state.h"
#include "gover-fleet/model/mapping.h"

#define DOMAIN_XML_MAX	   65536 /* bytes */
#define DOMAIN_LABEL_MAX   256	 /* size of a label of gover-d with its NUL */
#define DOMAIN_DEVICES_MAX 8	 /* devices of a domain that can be vGPUs; others are ignored */

enum domain_wish_kind {
	DOMAIN_WANTS_NOTHING,
	DOMAIN_WANTS_SLOT,
	DOMAIN_OF_NOVA, /* a server of Nova without extra specs: the cloud must be asked */
};

struct domain_wish {
	enum domain_wish_kind kind;
	char slot[WANTED_CLASS_MAX]; /* class of DOMAIN_WANTS_SLOT */
	char gpu[ID_MAX];	     /* "": any GPU */
	char uuid[HOST_STATE_UUID_MAX], name[HOST_STATE_NAME_MAX];
	/* ids of the devices that the domain has through vfio: the UUIDs of mediated devices, and
	 * PCI addresses with '_' for ':', as gover-d names virtual functions */
	char devices[DOMAIN_DEVICES_MAX][ID_MAX];
	int n_devices;
	/* Not in the XML: set by the caller if a migration brings the domain to this host. */
	bool migrated;
	/* Nova's name of the server, project and flavour; "": none */
	char instance[DOMAIN_LABEL_MAX], project[DOMAIN_LABEL_MAX], flavor[DOMAIN_LABEL_MAX];
};

/*
 * Parses @length bytes. Returns -E2BIG if the text is longer than DOMAIN_XML_MAX, or -EINVAL with a
 * message: not well-formed, no name or UUID, a name that is too long, or more than one slot.
 */
int domain_xml_parse(const char *xml, size_t length, struct domain_wish *ret_wish,
		     struct err *reterr);

#endif
