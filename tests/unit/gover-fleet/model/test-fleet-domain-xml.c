/* SPDX-License-Identifier: MIT */
/* The XML of domains: what a domain wants, and input that is not well-formed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-fleet/model/domain-xml.h"
#include "tests/unit/unit.h"

#define UUID	 "2d2c8ea3-2f5e-4e2c-a0b8-1f5b8f0a7c11"
#define BEGIN	 "<domain type='qemu' id='3'><name>instance-1</name><uuid>" UUID "</uuid>"
#define END	 "</domain>"
#define NOVA	 "<nova:instance xmlns:nova=\"http://openstack.org/xmlns/libvirt/nova/1.1\">"
#define SLOT(n)	 "<nova:extraSpec name=\"resources:CUSTOM_GOVER_SLOT_" n "\">1</nova:extraSpec>"
#define SPECS(x) "<nova:flavor name=\"g.50\"><nova:extraSpecs>" x "</nova:extraSpecs></nova:flavor>"
#define META(x)	 BEGIN "<metadata>" x "</metadata>" END

static int parse(const char *xml, struct domain_wish *ret_wish, struct err *reterr)
{
	/* an exact copy, so that AddressSanitizer finds a read beyond the end */
	size_t length = strlen(xml);
	char *copy = malloc(length ? length : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, xml, length);
	r = domain_xml_parse(copy, length, ret_wish, reterr);
	free(copy);
	return r;
}

TEST(wishes_are_read)
{
	static const struct {
		const char *xml;
		enum domain_wish_kind kind;
		const char *slot, *gpu;
	} rows[] = {
		{BEGIN END, DOMAIN_WANTS_NOTHING, "", ""},
		{META("<gover:vgpu xmlns:gover='urn:gover' flavor='small'/>"), DOMAIN_WANTS_SLOT,
		 "CUSTOM_GOVER_SLOT_SMALL", ""},
		{META("<gover:vgpu flavor=\"a&amp;b\" gpu='gpu1' xmlns:gover='urn:gover'/>"),
		 DOMAIN_WANTS_SLOT, "CUSTOM_GOVER_SLOT_A_B", "gpu1"},
		{META("<other:vgpu xmlns:other='urn:x' flavor='small'/>"), DOMAIN_WANTS_NOTHING, "",
		 ""},
		{META(NOVA "<nova:flavor name='m1'/></nova:instance>"), DOMAIN_OF_NOVA, "", ""},
		{META(NOVA SPECS("") "</nova:instance>"), DOMAIN_WANTS_NOTHING, "", ""},
		{META(NOVA SPECS(SLOT("50")) "</nova:instance>"), DOMAIN_WANTS_SLOT,
		 "CUSTOM_GOVER_SLOT_50", ""},
		{META(NOVA SPECS("<nova:extraSpec name='resources7:CUSTOM_GOVER_SLOT_X'> 1 "
				 "</nova:extraSpec>") "</nova:instance>"),
		 DOMAIN_WANTS_SLOT, "CUSTOM_GOVER_SLOT_X", ""},
		{META(NOVA SPECS("<nova:extraSpec name='resources_GOVER:CUSTOM_GOVER_SLOT'>1"
				 "</nova:extraSpec><nova:extraSpec "
				 "name='resources_GOVER:CUSTOM_GOVER_SLOT_X'>1</"
				 "nova:extraSpec>") "</nova:instance>"),
		 DOMAIN_WANTS_SLOT, "CUSTOM_GOVER_SLOT_X", ""},
		{META(NOVA SPECS("<nova:extraSpec name='resources:CUSTOM_OTHER'>4</nova:extraSpec>"
				 "<nova:extraSpec name='hw:x'>CUSTOM_GOVER_SLOT_1"
				 "</nova:extraSpec>") "</nova:instance>"),
		 DOMAIN_WANTS_NOTHING, "", ""},
		{META(NOVA SPECS(SLOT("50") SLOT("50")) "</nova:instance>"), DOMAIN_WANTS_SLOT,
		 "CUSTOM_GOVER_SLOT_50", ""},
		{"<?xml version='1.0'?>\n<!-- a > b <c> -->\n" BEGIN
		 "<!-- <metadata> --><description>a &lt; b</description>" END "\n",
		 DOMAIN_WANTS_NOTHING, "", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct domain_wish wish;
		struct err err = {""};

		if (parse(rows[i].xml, &wish, &err) != 0)
			fail_msg("row %zu: %s", i, err.msg);
		assert_string_equal(wish.name, "instance-1");
		assert_string_equal(wish.uuid, UUID);
		if (wish.kind != rows[i].kind)
			fail_msg("row %zu: kind %d", i, wish.kind);
		assert_string_equal(wish.slot, rows[i].slot);
		assert_string_equal(wish.gpu, rows[i].gpu);
	}
}

TEST(labels_and_the_device_are_read)
{
	static const char xml[] =
		BEGIN "<metadata>" NOVA "<nova:name>web &quot;1&quot;&#x202e;&#x85;</nova:name>"
		      "<nova:owner><nova:user uuid='u'>admin</nova:user><nova:project uuid='p'>shop"
		      "</nova:project></nova:owner>" SPECS(
			      SLOT("50")) "</nova:instance></metadata>"
					  "<devices><hostdev mode='subsystem' "
					  "type='pci'><source><address domain='0x0000' "
					  "uuid='no'/></source></hostdev><hostdev mode='subsystem' "
					  "type='mdev' "
					  "model='vfio-pci'><source><address "
					  "uuid='6f3c2a10-0000-4000-8000-000000000001'/>"
					  "</source></hostdev></devices>" END;
	struct domain_wish wish;
	struct err err = {""};

	assert_int_equal(parse(xml, &wish, &err), 0);
	assert_string_equal(wish.instance, "web \"1\"?????");
	assert_string_equal(wish.project, "shop");
	assert_string_equal(wish.flavor, "g.50");
	assert_int_equal(wish.n_devices, 2);
	assert_string_equal(wish.devices[0], "0000_00_00.0");
	assert_string_equal(wish.devices[1], "6f3c2a10-0000-4000-8000-000000000001");
}

#define PCI(address)                                                                   \
	"<hostdev mode='subsystem' type='pci' managed='yes'><source><address " address \
	"/></source></hostdev>"

TEST(the_address_of_a_virtual_function_is_its_name)
{
	static const struct {
		const char *devices, *id; /* "": no device */
	} rows[] = {
		{PCI("domain='0x0000' bus='0x03' slot='0x00' function='0x1'"), "0000_03_00.1"},
		{PCI("domain='0x10' bus='0xaB' slot='0x1f' function='0x7'"), "0010_ab_1f.7"},
		{PCI("bus='0x03' slot='0x00'"), "0000_03_00.0"},
		{PCI("bus='0x100' slot='0x00'"), ""},
		{PCI("bus='0x03' slot='0x20'"), ""},
		{PCI("bus='0x03' slot='0x00' function='0x8'"), ""},
		{PCI("bus='0x' slot='0x00'"), ""},
		{PCI("bus='3' slot='0x00'"), ""},
		{PCI("bus='0x03x' slot='0x00'"), ""},
		{PCI("bus='0x-3' slot='0x00'"), ""},
		{PCI("bus='0x00000000000000000003'"), ""},
		{"<hostdev type='usb'><source><address bus='0x3'/></source></hostdev>", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct domain_wish wish;
		struct err err = {""};
		char xml[1024];

		snprintf(xml, sizeof(xml), "%s<devices>%s</devices>%s", BEGIN, rows[i].devices,
			 END);
		assert_int_equal(parse(xml, &wish, &err), 0);
		if (wish.n_devices != (rows[i].id[0] != '\0'))
			fail_msg("row %zu: %d devices", i, wish.n_devices);
		if (wish.n_devices)
			assert_string_equal(wish.devices[0], rows[i].id);
	}
}

TEST(further_devices_are_ignored)
{
	char xml[4096] = BEGIN "<devices>";
	struct domain_wish wish;
	struct err err = {""};

	for (int i = 0; i < DOMAIN_DEVICES_MAX + 1; i++)
		strcat(xml, PCI("bus='0x03' slot='0x00' function='0x1'"));
	strcat(xml, "</devices>" END);
	assert_int_equal(parse(xml, &wish, &err), 0);
	assert_int_equal(wish.n_devices, DOMAIN_DEVICES_MAX);
}

TEST(wrong_xml_is_rejected)
{
	static const char *const rows[] = {
		"",
		"text",
		"<domain>",
		BEGIN,
		BEGIN "</domai>",
		BEGIN END "<x/>",
		BEGIN END "</domain>",
		BEGIN "<a></b>" END,
		BEGIN "<a" END,
		BEGIN "<!-- " END,
		BEGIN "<![CDATA[ ]]>" END,
		BEGIN "< a/>" END,
		BEGIN "<a b='1' b='2'/>" END,
		BEGIN "<a>\xff</a>" END,
		"<!DOCTYPE domain>" BEGIN END,
		"<!DOCTYPE domain [<!ENTITY a 'b'>]>" BEGIN END,
		"<!DOCTYPE domain SYSTEM 'file:///etc/passwd'>" BEGIN END,
		"<domain><name>n</name></domain>",
		"<domain><uuid>" UUID "</uuid></domain>",
		"<domain><name>n</name><uuid>short</uuid></domain>",
		"<domain><name>n</name><uuid>../c8ea3-2f5e-4e2c-a0b8-1f5b8f0a7c11</uuid></domain>",
		"<domain><name>&nbsp;</name><uuid>" UUID "</uuid></domain>",
		META("<gover:vgpu/>"),
		META("<gover:vgpu flavor=''/>"),
		META("<gover:vgpu flavor='a' gpu='../x'/>"),
		META("<gover:vgpu flavor='a'/><gover:vgpu flavor='b'/>"),
		META(NOVA SPECS(SLOT("1") SLOT("2")) "</nova:instance>"),
		META(NOVA SPECS("<nova:extraSpec name='resources:CUSTOM_GOVER_SLOT_1'>2"
				"</nova:extraSpec>") "</nova:instance>"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct domain_wish wish;
		struct err err = {""};

		if (parse(rows[i], &wish, &err) != -EINVAL || !err.msg[0])
			fail_msg("row %zu is accepted: %s", i, rows[i]);
	}
}

TEST(sizes_and_depth_are_limited)
{
	size_t room = DOMAIN_XML_MAX + 1, used;
	char *text = malloc(room + 1);
	struct domain_wish wish;
	struct err err = {""};

	assert_non_null(text);
	memset(text, ' ', room);
	text[room] = '\0';
	memcpy(text, BEGIN END, strlen(BEGIN END));
	assert_int_equal(domain_xml_parse(text, DOMAIN_XML_MAX, &wish, &err), 0);
	assert_int_equal(domain_xml_parse(text, DOMAIN_XML_MAX + 1, &wish, &err), -E2BIG);
	used = strlen(BEGIN);
	for (int i = 0; i < 100; i++, used += 3)
		memcpy(text + used, "<a>", 3);
	assert_int_equal(domain_xml_parse(text, used, &wish, &err), -EINVAL);
	free(text);
}

/* Each prefix of a valid document is rejected, and no byte after it is read. */
TEST(each_prefix_is_rejected)
{
	static const char xml[] = META(NOVA SPECS(SLOT("50")) "</nova:instance>");
	char part[sizeof(xml)];

	for (size_t n = 0; n < strlen(xml); n++) {
		struct domain_wish wish;
		struct err err;

		memcpy(part, xml, n);
		part[n] = '\0';
		if (parse(part, &wish, &err) != -EINVAL)
			fail_msg("prefix of %zu bytes", n);
	}
}
