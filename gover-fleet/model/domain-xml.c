/* SPDX-License-Identifier: MIT */
/* A table of the paths that matter, and what is read there. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "gover-fleet/model/domain-xml.h"
#include "gover-fleet/model/mapping.h"
#include "gover-fleet/model/xml-scan.h"

#define NOVA	   "domain/metadata/nova:instance"
#define EXTRA_SPEC NOVA "/nova:flavor/nova:extraSpecs/nova:extraSpec"

struct reader {
	struct xml_scan scan;
	struct domain_wish wish;
	bool of_nova, has_specs;
	bool mdev;			   /* inside of a mediated device */
	char spec[WANTED_CLASS_MAX * 2];   /* name of the open extra spec */
	char named_slot[WANTED_CLASS_MAX]; /* slot that the open extra spec names; "": none */
	struct err *reterr;
};

static int set_slot(struct reader *r, const char *slot)
{
	struct domain_wish *wish = &r->wish;

	if (wish->kind == DOMAIN_WANTS_SLOT && strcmp(wish->slot, slot) != 0)
		return err_fail(r->reterr, EINVAL,
				"domain XML: more than one slot (allowed: one of a domain)");
	wish->kind = DOMAIN_WANTS_SLOT;
	snprintf(wish->slot, sizeof(wish->slot), "%s", slot);
	return 0;
}

static int fail_long(struct reader *r, const char *what)
{
	return err_fail(r->reterr, EINVAL, "domain XML: %s is too long or not valid", what);
}

/* A label only informs, so a text that does not fit is not an error. */
static void read_label(struct reader *r, const char *attribute, char label[DOMAIN_LABEL_MAX])
{
	int e = attribute ? xml_scan_attribute(&r->scan, attribute, label, DOMAIN_LABEL_MAX)
			  : xml_scan_text(&r->scan, label, DOMAIN_LABEL_MAX);

	if (e < 0)
		label[0] = '\0';
}

/* --- elements --- */

static int open_vgpu(struct reader *r)
{
	char flavor[ID_MAX], slot[WANTED_CLASS_MAX];
	int e = xml_scan_attribute(&r->scan, "flavor", flavor, sizeof(flavor));

	if (e < 0 || mapping_class_name(flavor, slot) < 0)
		return fail_long(r, "flavor of gover:vgpu");
	e = xml_scan_attribute(&r->scan, "gpu", r->wish.gpu, sizeof(r->wish.gpu));
	if ((e < 0 && e != -ENOENT) || (e == 0 && !id_valid(r->wish.gpu)))
		return fail_long(r, "gpu of gover:vgpu");
	return set_slot(r, slot);
}

static int open_nova(struct reader *r)
{
	r->of_nova = true;
	return 0;
}

static int open_specs(struct reader *r)
{
	r->has_specs = true;
	return 0;
}

static int open_flavor(struct reader *r)
{
	read_label(r, "name", r->wish.flavor);
	return 0;
}

/* "resources:CLASS" or, of a numbered group, "resources1:CLASS" */
static int open_spec(struct reader *r)
{
	const char *colon;

	r->named_slot[0] = '\0';
	if (xml_scan_attribute(&r->scan, "name", r->spec, sizeof(r->spec)) < 0 ||
	    strncmp(r->spec, "resources", strlen("resources")) != 0)
		return 0;
	colon = strchr(r->spec, ':');
	if (!colon || strncmp(colon + 1, WANTED_CLASS_PREFIX, strlen(WANTED_CLASS_PREFIX)) != 0)
		return 0;
	if (strlen(colon + 1) >= sizeof(r->named_slot))
		return fail_long(r, "extra spec of a slot");
	strcpy(r->named_slot, colon + 1);
	return 0;
}

static int text_spec(struct reader *r)
{
	char amount[16];

	if (!r->named_slot[0])
		return 0;
	if (xml_scan_text(&r->scan, amount, sizeof(amount)) < 0 || strcmp(amount, "1") != 0)
		return err_fail(r->reterr, EINVAL,
				"domain XML: %s: amount not allowed (allowed: 1)", r->spec);
	return set_slot(r, r->named_slot);
}

static int text_name(struct reader *r)
{
	return xml_scan_text(&r->scan, r->wish.name, sizeof(r->wish.name)) < 0
		       ? fail_long(r, "name")
		       : 0;
}

static int text_uuid(struct reader *r)
{
	return xml_scan_text(&r->scan, r->wish.uuid, sizeof(r->wish.uuid)) < 0 ||
			       strlen(r->wish.uuid) != HOST_STATE_UUID_MAX - 1 ||
			       !id_valid(r->wish.uuid)
		       ? fail_long(r, "uuid")
		       : 0;
}

static int text_instance(struct reader *r)
{
	read_label(r, NULL, r->wish.instance);
	return 0;
}

static int text_project(struct reader *r)
{
	read_label(r, NULL, r->wish.project);
	return 0;
}

static int open_hostdev(struct reader *r)
{
	char type[16];

	r->mdev = xml_scan_attribute(&r->scan, "type", type, sizeof(type)) == 0 &&
		  strcmp(type, "mdev") == 0;
	return 0;
}

static int open_address(struct reader *r)
{
	char device[ID_MAX];

	if (r->mdev && !r->wish.device[0] &&
	    xml_scan_attribute(&r->scan, "uuid", device, sizeof(device)) == 0 && id_valid(device))
		strcpy(r->wish.device, device);
	return 0;
}

static const struct {
	const char *path;
	enum xml_scan_event event;
	int (*read)(struct reader *r);
} places[] = {
	{"domain/name", XML_SCAN_TEXT, text_name},
	{"domain/uuid", XML_SCAN_TEXT, text_uuid},
	{"domain/metadata/gover:vgpu", XML_SCAN_OPEN, open_vgpu},
	{NOVA, XML_SCAN_OPEN, open_nova},
	{NOVA "/nova:name", XML_SCAN_TEXT, text_instance},
	{NOVA "/nova:owner/nova:project", XML_SCAN_TEXT, text_project},
	{NOVA "/nova:flavor", XML_SCAN_OPEN, open_flavor},
	{NOVA "/nova:flavor/nova:extraSpecs", XML_SCAN_OPEN, open_specs},
	{EXTRA_SPEC, XML_SCAN_OPEN, open_spec},
	{EXTRA_SPEC, XML_SCAN_TEXT, text_spec},
	{"domain/devices/hostdev", XML_SCAN_OPEN, open_hostdev},
	{"domain/devices/hostdev/source/address", XML_SCAN_OPEN, open_address},
};

static int read_event(struct reader *r, enum xml_scan_event event)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < ARRAY_SIZE(places); i++)
		if (places[i].event == event && strcmp(places[i].path, r->scan.path) == 0)
			e = places[i].read(r);
	return e;
}

int domain_xml_parse(const char *xml, size_t length, struct domain_wish *ret_wish,
		     struct err *reterr)
{
	struct reader r = {.reterr = reterr};
	enum xml_scan_event event;
	int e = 0;

	if (length > DOMAIN_XML_MAX)
		return err_fail(reterr, E2BIG, "domain XML: longer than %d bytes", DOMAIN_XML_MAX);
	xml_scan_init(&r.scan, xml, length);
	while (e == 0 && (event = xml_scan_next(&r.scan)) != XML_SCAN_END) {
		if (event == XML_SCAN_ERROR)
			return err_fail(reterr, EINVAL, "domain XML: not well-formed");
		e = read_event(&r, event);
	}
	if (e < 0)
		return e;
	if (!r.wish.name[0] || !r.wish.uuid[0])
		return err_fail(reterr, EINVAL, "domain XML: no name or uuid");
	if (r.wish.kind == DOMAIN_WANTS_NOTHING && r.of_nova && !r.has_specs)
		r.wish.kind = DOMAIN_OF_NOVA;
	*ret_wish = r.wish;
	return 0;
}
