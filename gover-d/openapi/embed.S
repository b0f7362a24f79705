/* SPDX-License-Identifier: MIT */
/*
 * The description of REST in gover-d: openapi.json and openapi.json.gz, found by the include path,
 * and the ETag of each form.
 */
	.section .rodata
	.globl openapi_document, openapi_packed
openapi_document:
	.incbin "openapi.json"
document_end:
openapi_packed:
	.incbin "openapi.json.gz"
packed_end:
	.globl openapi_document_size, openapi_packed_size
	.balign 8
openapi_document_size:
	.quad document_end - openapi_document
openapi_packed_size:
	.quad packed_end - openapi_packed
	.globl openapi_etag, openapi_packed_etag
openapi_etag:
	.ascii "\""
	.incbin "openapi.etag"
	.asciz "\""
openapi_packed_etag:
	.ascii "\""
	.incbin "openapi.etag"
	.asciz "-gz\""
	.section .note.GNU-stack, "", %progbits
