/* SPDX-License-Identifier: MIT */
/* The description of REST as bytes of gover-d: openapi.json, found by the include path. */
	.section .rodata
	.globl openapi_document, openapi_document_end
openapi_document:
	.incbin "openapi.json"
openapi_document_end:
	.section .note.GNU-stack, "", %progbits
