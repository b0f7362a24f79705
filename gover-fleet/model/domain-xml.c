/* SPDX-License-Identifier: MIT */
/*
 * Each row of the table is an XPath expression and the function that reads its value. libxml2
 * checks the document and limits its depth. A document type, which could declare entities, is
 * rejected at its start.
 */
#include <errno.h>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "gover-fleet/model/domain-xml.h"
#include "gover-fleet/model/mapping.h"

/* The prefixes are fixed, and the URI of Nova's contains its version. */
#define NAMED(name) "/*[name()='" name "']"
#define METADATA    "/domain/metadata"
#define NOVA	    METADATA NAMED("nova:instance")
#define FLAVOR	    NOVA NAMED("nova:flavor")
#define SPECS	    FLAVOR NAMED("nova:extraSpecs")
#define ADDRESS(of) "/domain/devices/hostdev[@type='" of "']/source/address"

struct reader {
	struct domain_wish wish;
	bool of_nova, has_specs;
	const char *rejected; /* why the document is not read; NULL: it is */
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
	/* A tenant names its server. gover-d refuses control characters in labels. */
	text_mask_controls(ret_value);
	return 0;
}

/* Returns -ENOENT if the element has no such attribute, -ENOBUFS if it is too long. */
static int read_attribute(const xmlNode *node, const char *name, char *ret_value, size_t size)
{
	CLEANUP_FREE char *value = (char *)xmlGetNoNsProp(node, (const xmlChar *)name);

	return value ? copy_value(value, strlen(value), ret_value, size) : -ENOENT;
}

/*
 * Reads the text of an element without the white space around it. Returns -ENOBUFS if it is too
 * long.
 */
static int read_text(const xmlNode *node, char *ret_text, size_t size)
{
	CLEANUP_FREE char *content = (char *)xmlNodeGetContent(node);
	const char *text = content + strspn(content, " \t\r\n");
	size_t length = strlen(text);

	while (length > 0 && strchr(" \t\r\n", text[length - 1]))
		length--;
	return copy_value(text, length, ret_text, size);
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

/* --- elements and attributes --- */

static int read_vgpu(struct reader *r, const xmlNode *node)
{
	char flavor[ID_MAX], slot[WANTED_CLASS_MAX];
	int e = read_attribute(node, "flavor", flavor, sizeof(flavor));

	if (e < 0 || mapping_class_name(flavor, slot) < 0)
		return fail_long(r, "flavor of gover:vgpu");
	e = read_attribute(node, "gpu", r->wish.gpu, sizeof(r->wish.gpu));
	if ((e < 0 && e != -ENOENT) || (e == 0 && !id_valid(r->wish.gpu)))
		return fail_long(r, "gpu of gover:vgpu");
	return set_slot(r, slot);
}

static int read_nova(struct reader *r, const xmlNode *node)
{
	(void)node;
	r->of_nova = true;
	return 0;
}

static int read_specs(struct reader *r, const xmlNode *node)
{
	(void)node;
	r->has_specs = true;
	return 0;
}

/* "resources:CLASS" or, of a numbered group, "resources1:CLASS" */
static int read_spec(struct reader *r, const xmlNode *node)
{
	char spec[WANTED_CLASS_MAX * 2], amount[16];
	const char *colon;

	if (read_attribute(node, "name", spec, sizeof(spec)) < 0 ||
	    strncmp(spec, "resources", strlen("resources")) != 0)
		return 0;
	colon = strchr(spec, ':');
	if (!colon || !wanted_is_slot(colon + 1))
		return 0;
	if (strlen(colon + 1) >= WANTED_CLASS_MAX)
		return fail_long(r, "extra spec of a slot");
	if (read_text(node, amount, sizeof(amount)) < 0 || strcmp(amount, "1") != 0)
		return err_fail(r->reterr, EINVAL,
				"domain XML: %s: amount not allowed (allowed: 1)", spec);
	return set_slot(r, colon + 1);
}

static int read_name(struct reader *r, const xmlNode *node)
{
	return read_text(node, r->wish.name, sizeof(r->wish.name)) < 0 ? fail_long(r, "name") : 0;
}

static int read_uuid(struct reader *r, const xmlNode *node)
{
	return read_text(node, r->wish.uuid, sizeof(r->wish.uuid)) < 0 ||
			       strlen(r->wish.uuid) != HOST_STATE_UUID_MAX - 1 ||
			       !id_valid(r->wish.uuid)
		       ? fail_long(r, "uuid")
		       : 0;
}

/* Reads a part of a PCI address, such as 0x1f. A missing part is 0. */
static int read_part(const xmlNode *node, const char *name, unsigned long max,
		     unsigned int *ret_part)
{
	char text[16] = "0x0";
	int e = read_attribute(node, name, text, sizeof(text));
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

static int read_pci_address(const xmlNode *node, char ret_id[ID_MAX])
{
	unsigned int domain, bus, slot, function;

	if (read_part(node, "domain", 0xffff, &domain) < 0 ||
	    read_part(node, "bus", 0xff, &bus) < 0 || read_part(node, "slot", 0x1f, &slot) < 0 ||
	    read_part(node, "function", 7, &function) < 0)
		return -EINVAL;
	snprintf(ret_id, ID_MAX, "%04x_%02x_%02x.%x", domain, bus, slot, function);
	return 0;
}

static int add_device(struct reader *r, const char *device)
{
	if (id_valid(device) && r->wish.n_devices < DOMAIN_DEVICES_MAX)
		strcpy(r->wish.devices[r->wish.n_devices++], device);
	return 0;
}

static int read_mediated(struct reader *r, const xmlNode *node)
{
	char device[ID_MAX];

	return read_attribute(node, "uuid", device, sizeof(device)) < 0 ? 0 : add_device(r, device);
}

static int read_pci(struct reader *r, const xmlNode *node)
{
	char device[ID_MAX];

	return read_pci_address(node, device) < 0 ? 0 : add_device(r, device);
}

static const struct {
	const char *path;
	int (*read)(struct reader *r, const xmlNode *node);
	size_t label; /* without a function: offset of a text of DOMAIN_LABEL_MAX bytes */
} places[] = {
	{"/domain/name", .read = read_name},
	{"/domain/uuid", .read = read_uuid},
	{METADATA NAMED("gover:vgpu"), .read = read_vgpu},
	{NOVA, .read = read_nova},
	{NOVA NAMED("nova:name"), .label = offsetof(struct reader, wish.instance)},
	{NOVA NAMED("nova:owner") NAMED("nova:project"),
	 .label = offsetof(struct reader, wish.project)},
	{FLAVOR "/@name", .label = offsetof(struct reader, wish.flavor)},
	{SPECS, .read = read_specs},
	{SPECS NAMED("nova:extraSpec"), .read = read_spec},
	{ADDRESS("pci"), .read = read_pci},
	{ADDRESS("mdev"), .read = read_mediated},
};

static int read_place(struct reader *r, size_t place, const xmlNode *node)
{
	char *label = (char *)r + places[place].label;

	if (places[place].read)
		return places[place].read(r, node);
	/* A label only informs, so a text that does not fit is not an error. */
	if (read_text(node, label, DOMAIN_LABEL_MAX) < 0)
		label[0] = '\0';
	return 0;
}

static int read_places(struct reader *r, xmlXPathContext *xpath)
{
	int e = 0;

	for (size_t i = 0; i < ARRAY_SIZE(places) && e == 0; i++) {
		xmlXPathObject *found = xmlXPathEval((const xmlChar *)places[i].path, xpath);

		if (!found)
			return err_fail(r->reterr, EINVAL, "domain XML: %s cannot be evaluated",
					places[i].path);
		for (int j = 0; j < xmlXPathNodeSetGetLength(found->nodesetval) && e == 0; j++)
			e = read_place(r, i, xmlXPathNodeSetItem(found->nodesetval, j));
		xmlXPathFreeObject(found);
	}
	return e;
}

/* --- the document --- */

/* Ends the parser, whose document must not be used. */
static void reject(xmlParserCtxt *parser, const char *why)
{
	struct reader *r = parser->_private;

	r->rejected = why;
	xmlStopParser(parser);
}

static void on_doctype(void *parser, const xmlChar *name, const xmlChar *public,
		       const xmlChar *system)
{
	(void)name;
	(void)public;
	(void)system;
	reject(parser, "a document type is not allowed");
}

static void on_cdata(void *parser, const xmlChar *text, int length)
{
	(void)text;
	(void)length;
	reject(parser, "CDATA is not allowed");
}

static void set_up_library(void)
{
	(void)xmlMemSetup(free, xmalloc, xrealloc, xstrdup);
	xmlInitParser();
}

static int fail_parse(xmlParserCtxt *parser, const struct reader *r)
{
	const xmlError *error = xmlCtxtGetLastError(parser);

	if (r->rejected)
		return err_fail(r->reterr, EINVAL, "domain XML: %s", r->rejected);
	if (!error || !error->message)
		return err_fail(r->reterr, EINVAL, "domain XML: not well-formed");
	return err_fail(r->reterr, EINVAL, "domain XML: line %d: %.*s", error->line,
			(int)strcspn(error->message, "\n"), error->message);
}

static int parse(struct reader *r, const char *xml, size_t length)
{
	xmlParserCtxt *parser = xmlNewParserCtxt();
	xmlDoc *document;
	int e;

	parser->_private = r;
	parser->sax->internalSubset = on_doctype;
	parser->sax->cdataBlock = on_cdata;
	/* libvirt prints UTF-8; another encoding in the document has no effect */
	document = xmlCtxtReadMemory(parser, xml, (int)length, /* URL= */ NULL, "UTF-8",
				     XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	if (document && !r->rejected) {
		xmlXPathContext *xpath = xmlXPathNewContext(document);

		e = read_places(r, xpath);
		xmlXPathFreeContext(xpath);
	} else {
		e = fail_parse(parser, r);
	}
	xmlFreeDoc(document);
	xmlFreeParserCtxt(parser);
	return e;
}

int domain_xml_parse(const char *xml, size_t length, struct domain_wish *ret_wish,
		     struct err *reterr)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct reader r = {.reterr = reterr};
	int e;

	if (length > DOMAIN_XML_MAX)
		return err_fail(reterr, E2BIG, "domain XML: longer than %d bytes", DOMAIN_XML_MAX);
	(void)pthread_once(&once, set_up_library);
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
