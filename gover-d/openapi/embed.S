/* SPDX-License-Identifier: MIT */
/* The description of REST as a text in gover-d: openapi.json, found by the include path. */
	.section .rodata
	.globl openapi_document
openapi_document:
	.incbin "openapi.json"
	.byte 0
	.section .note.GNU-stack, "", %progbits
