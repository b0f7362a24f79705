/* SPDX-License-Identifier: MIT */
/* Embeds the compiled BPF programs present-1.o and present-2.o (found by the include path). */
	.section .rodata
	.balign 8
	.globl fps_bpf_present_1, fps_bpf_present_1_end
fps_bpf_present_1:
	.incbin "present-1.o"
fps_bpf_present_1_end:
	.balign 8
	.globl fps_bpf_present_2, fps_bpf_present_2_end
fps_bpf_present_2:
	.incbin "present-2.o"
fps_bpf_present_2_end:
	.section .note.GNU-stack, "", %progbits
