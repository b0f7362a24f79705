/* SPDX-License-Identifier: MIT */
/* The completion scripts in dist/completion/, as texts that `gover-ctl completion` prints. */
	.section .rodata
	.globl completion_bash, completion_zsh
completion_bash:
	.incbin "gover-ctl.bash"
	.byte 0
completion_zsh:
	.incbin "_gover-ctl"
	.byte 0
	.section .note.GNU-stack, "", %progbits
