/* SPDX-License-Identifier: MIT */
/*
 * A table of the paths that are read, and their functions. Expat checks the document. Its entities
 * are never expanded: a document that could declare one is rejected.
 */
#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-fleet/model/domain-xml.h"
#include "gover-fleet/model/mapping.h"

#define NOVA	   "domain/metadata/nova:instance"
#define EXTRA_SPEC NOVA "/nova:flavor/nova:extraSpecs/nova:extraSpec"
#define PATH_SIZE  256
#define DEPTH_MAX  64

struct reader {
	XML_Parser parser;
	char path[PATH_SIZE]; /* names of the open elements, "domain/devices" */
	int depth;
	const char **attributes;     /* of the element that begins: names and values, then NULL */
	char text[DOMAIN_LABEL_MAX]; /* of the last element, without the white space around it */
	size_t text_length;	     /* the length of the whole text, which @text may not hold */
	int result;		     /* of the last place */
	struct domain_wish wish;
	bool of_nova, has_specs;
	bool mdev, pci;			   /* inside of a mediated or PCI device */
	char spec[WANTED_CLASS_MAX * 2];   /* name of the open extra spec */
	char named_slot[WANTED_CLASS_MAX]; /* slot that the open extra spec names; "": none */
	struct err *reterr;
};

/* --- values --- */

/* Returns -ENOBUFS if the value does not fit. */
static int copy_value(const char *value, size_t length, char *ret_value, size_t size)
{
	if (length >= size)
		return -ENOBUFS;
	memcpy(ret_value, value, length);
	ret_value[length] = '\0';
	return 0;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Returns -ENOENT if the element that begins has no such attribute, -ENOBUFS if it is too long. */
static int read_attribute(const struct reader *r, const char *name, char *ret_value, size_t size)
{
	for (const char **at = r->attributes; *at; at += 2)
		if (strcmp(at[0], name) == 0)
			return copy_value(at[1], strlen(at[1]), ret_value, size);
	return -ENOENT;
}

/* Returns -ENOBUFS if the text of the element is too long. */
static int read_text(const struct reader *r, char *ret_text, size_t size)
{
	return r->text_length < sizeof(r->text)
		       ? copy_value(r->text, r->text_length, ret_text, size)
		       : -ENOBUFS;
}

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
	int e = attribute ? read_attribute(r, attribute, label, DOMAIN_LABEL_MAX)
			  : read_text(r, label, DOMAIN_LABEL_MAX);

	if (e < 0)
		label[0] = '\0';
}

/* --- elements --- */

static int open_vgpu(struct reader *r)
{
	char flavor[ID_MAX], slot[WANTED_CLASS_MAX];
	int e = read_attribute(r, "flavor", flavor, sizeof(flavor));

	if (e < 0 || mapping_class_name(flavor, slot) < 0)
		return fail_long(r, "flavor of gover:vgpu");
	e = read_attribute(r, "gpu", r->wish.gpu, sizeof(r->wish.gpu));
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
	if (read_attribute(r, "name", r->spec, sizeof(r->spec)) < 0 ||
	    strncmp(r->spec, "resources", strlen("resources")) != 0)
		return 0;
	colon = strchr(r->spec, ':');
	if (!colon || !wanted_is_slot(colon + 1))
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
	if (read_text(r, amount, sizeof(amount)) < 0 || strcmp(amount, "1") != 0)
		return err_fail(r->reterr, EINVAL,
				"domain XML: %s: amount not allowed (allowed: 1)", r->spec);
	return set_slot(r, r->named_slot);
}

static int text_name(struct reader *r)
{
	return read_text(r, r->wish.name, sizeof(r->wish.name)) < 0 ? fail_long(r, "name") : 0;
}

static int text_uuid(struct reader *r)
{
	return read_text(r, r->wish.uuid, sizeof(r->wish.uuid)) < 0 ||
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
	char type[16] = "";

	(void)read_attribute(r, "type", type, sizeof(type));
	r->mdev = strcmp(type, "mdev") == 0;
	r->pci = strcmp(type, "pci") == 0;
	return 0;
}

/* Reads a part of a PCI address, such as 0x1f. A missing part is 0. */
static int read_part(const struct reader *r, const char *name, unsigned long max,
		     unsigned int *ret_part)
{
	char text[16] = "0x0";
	int e = read_attribute(r, name, text, sizeof(text));
	size_t digits =
		strncmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;
	unsigned long part;

	if ((e < 0 && e != -ENOENT) || digits == 0 || digits > 8 || text[2 + digits] != '\0')
		return -EINVAL;
	part = strtoul(text, NULL, 16);
	if (part > max)
		return -EINVAL;
	*ret_part = (unsigned int)part;
	return 0;
}

static int read_pci_address(const struct reader *r, char ret_id[ID_MAX])
{
	unsigned int domain, bus, slot, function;

	if (read_part(r, "domain", 0xffff, &domain) < 0 || read_part(r, "bus", 0xff, &bus) < 0 ||
	    read_part(r, "slot", 0x1f, &slot) < 0 || read_part(r, "function", 7, &function) < 0)
		return -EINVAL;
	snprintf(ret_id, ID_MAX, "%04x_%02x_%02x.%x", domain, bus, slot, function);
	return 0;
}

static int open_address(struct reader *r)
{
	char device[ID_MAX];
	int e = -ENOENT;

	if (r->mdev)
		e = read_attribute(r, "uuid", device, sizeof(device));
	else if (r->pci)
		e = read_pci_address(r, device);
	if (e == 0 && id_valid(device) && r->wish.n_devices < DOMAIN_DEVICES_MAX)
		strcpy(r->wish.devices[r->wish.n_devices++], device);
	return 0;
}

/* When a place is read: as its element begins, with the attributes, or as it ends, with the text.
 */
enum moment { BEGIN, END };

static const struct {
	const char *path;
	enum moment moment;
	int (*read)(struct reader *r);
} places[] = {
	{"domain/name", END, text_name},
	{"domain/uuid", END, text_uuid},
	{"domain/metadata/gover:vgpu", BEGIN, open_vgpu},
	{NOVA, BEGIN, open_nova},
	{NOVA "/nova:name", END, text_instance},
	{NOVA "/nova:owner/nova:project", END, text_project},
	{NOVA "/nova:flavor", BEGIN, open_flavor},
	{NOVA "/nova:flavor/nova:extraSpecs", BEGIN, open_specs},
	{EXTRA_SPEC, BEGIN, open_spec},
	{EXTRA_SPEC, END, text_spec},
	{"domain/devices/hostdev", BEGIN, open_hostdev},
	{"domain/devices/hostdev/source/address", BEGIN, open_address},
};

/* --- events of expat --- */

static void stop(struct reader *r, int result)
{
	r->result = result;
	(void)XML_StopParser(r->parser, XML_FALSE);
}

static void read_places(struct reader *r, enum moment moment)
{
	for (size_t i = 0; r->result == 0 && i < ARRAY_SIZE(places); i++)
		if (places[i].moment == moment && strcmp(places[i].path, r->path) == 0)
			r->result = places[i].read(r);
	if (r->result < 0)
		stop(r, r->result);
}

static void reject(struct reader *r, const char *what)
{
	stop(r, err_fail(r->reterr, EINVAL, "domain XML: %s", what));
}

static void on_begin(void *userdata, const char *name, const char **attributes)
{
	struct reader *r = userdata;
	size_t used = strlen(r->path);

	if (r->depth == DEPTH_MAX || used + strlen(name) + 2 > sizeof(r->path)) {
		reject(r, "elements are nested too deeply");
		return;
	}
	r->depth++;
	snprintf(r->path + used, sizeof(r->path) - used, "%s%s", used ? "/" : "", name);
	r->attributes = attributes;
	r->text_length = 0;
	read_places(r, BEGIN);
}

static void on_end(void *userdata, const char *name)
{
	struct reader *r = userdata;
	char *slash = strrchr(r->path, '/');

	(void)name;
	while (r->text_length > 0 && r->text_length <= sizeof(r->text) &&
	       is_space(r->text[r->text_length - 1]))
		r->text_length--;
	read_places(r, END);
	*(slash ? slash : r->path) = '\0';
	r->depth--;
	r->text_length = 0;
}

static void on_text(void *userdata, const char *text, int length)
{
	struct reader *r = userdata;

	for (int i = 0; i < length; i++) {
		if (r->text_length == 0 && is_space(text[i]))
			continue;
		if (r->text_length < sizeof(r->text))
			r->text[r->text_length] = text[i];
		r->text_length++;
	}
}

/* "<!DOCTYPE domain>" alone declares nothing. */
static void on_doctype(void *userdata, const char *name, const char *system, const char *public,
		       int has_subset)
{
	(void)name;
	if (system || public || has_subset)
		reject(userdata, "declarations are not allowed");
}

static void on_cdata(void *userdata)
{
	reject(userdata, "CDATA is not allowed");
}

/* expat 2.9 deprecates XML_GetCurrentLineNumber(). */
static unsigned long long line_of(XML_Parser parser)
{
#if XML_MAJOR_VERSION > 2 || (XML_MAJOR_VERSION == 2 && XML_MINOR_VERSION >= 9)
	return XML_GetCurrentLineNumber64(parser);
#else
	return XML_GetCurrentLineNumber(parser);
#endif
}

static int parse(struct reader *r, const char *xml, size_t length)
{
	/* libvirt prints UTF-8; another encoding in the document has no effect */
	XML_Parser parser = XML_ParserCreate("UTF-8");
	enum XML_Status status;

	if (!parser)
		return err_fail(r->reterr, ENOMEM, "out of memory");
	r->parser = parser;
	XML_SetUserData(parser, r);
	XML_SetElementHandler(parser, on_begin, on_end);
	XML_SetCharacterDataHandler(parser, on_text);
	XML_SetStartDoctypeDeclHandler(parser, on_doctype);
	XML_SetStartCdataSectionHandler(parser, on_cdata);
	status = XML_Parse(parser, xml, (int)length, XML_TRUE);
	if (status != XML_STATUS_OK && r->result == 0) {
		enum XML_Error code = XML_GetErrorCode(parser);

		r->result = err_fail(r->reterr, code == XML_ERROR_NO_MEMORY ? ENOMEM : EINVAL,
				     "domain XML: line %llu: %s", line_of(parser),
				     XML_ErrorString(code));
	}
	XML_ParserFree(parser);
	return r->result;
}

int domain_xml_parse(const char *xml, size_t length, struct domain_wish *ret_wish,
		     struct err *reterr)
{
	struct reader r = {.reterr = reterr};
	int e;

	if (length > DOMAIN_XML_MAX)
		return err_fail(reterr, E2BIG, "domain XML: longer than %d bytes", DOMAIN_XML_MAX);
	e = parse(&r, xml, length);
	if (e < 0)
		return e;
	if (!r.wish.name[0] || !r.wish.uuid[0])
		return err_fail(reterr, EINVAL, "domain XML: no name or uuid");
	if (r.wish.kind == DOMAIN_WANTS_NOTHING && r.of_nova && !r.has_specs)
		r.wish.kind = DOMAIN_OF_NOVA;
	*ret_wish = r.wish;
	return 0;
}
