/* SPDX-License-Identifier: MIT */
/*
 * Scans well-formed XML as libvirt prints it: elements, attributes and text. No DTD and no entities
 * except the five predefined ones and character references below 128.
 */
#ifndef GOVER_FLEET_MODEL_XML_SCAN_H
#define GOVER_FLEET_MODEL_XML_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#define XML_SCAN_PATH_MAX 256
#define XML_SCAN_DEPTH	  64

enum xml_scan_event {
	XML_SCAN_OPEN,	/* an element begins: xml_scan_attribute() reads its attributes */
	XML_SCAN_TEXT,	/* text of the element */
	XML_SCAN_CLOSE, /* an element ends */
	XML_SCAN_END,	/* end of the document */
	XML_SCAN_ERROR, /* not well-formed, or too deep */
};

struct xml_scan {
	const char *at, *end;
	/* names of the open elements, "domain/devices"; of XML_SCAN_CLOSE, with the closed one */
	char path[XML_SCAN_PATH_MAX];
	size_t starts[XML_SCAN_DEPTH]; /* length of the path before each open element */
	size_t depth;
	const char *begin, *stop; /* the attributes, or the text */
	bool closes;		  /* the element of XML_SCAN_OPEN is empty: CLOSE follows */
	bool closed;		  /* the last event was CLOSE */
	bool complete;		  /* the root element has ended */
};

void xml_scan_init(struct xml_scan *scan, const char *text, size_t length);
enum xml_scan_event xml_scan_next(struct xml_scan *scan);

/*
 * Decodes an attribute of the element of the last XML_SCAN_OPEN. Returns 0, -ENOENT if the element
 * does not have it, -ENOBUFS if the value is longer than @size - 1, or -EINVAL.
 */
int xml_scan_attribute(const struct xml_scan *scan, const char *name, char *ret_value, size_t size);

/* Decodes the text of the last XML_SCAN_TEXT without the white space around it. Errors as above. */
int xml_scan_text(const struct xml_scan *scan, char *ret_text, size_t size);

#endif
