/* SPDX-License-Identifier: MIT */
/*
 * The description of REST in gover-d: openapi.json and openapi.json.gz, found by the include path,
 * and the ETag of each form.
 */
	.section .rodata
	.globl openapi_document, openapi_document_end, openapi_packed, openapi_packed_end
openapi_document:
	.incbin "openapi.json"
openapi_document_end:
openapi_packed:
	.incbin "openapi.json.gz"
openapi_packed_end:
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
