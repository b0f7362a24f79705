#!/bin/sh
# The tree of gover-sim mount --kind xe is that of the kernel's ABI document: paths, permissions, defaults, choices and errors.
# A FUSE has no PMU: the counters are files in the folder "counters".
GOVER_HOST=fuse
. "$(dirname "$0")/../host.sh"
. "$top/tests/kernel/xe/lib.sh"

fuse_mount "$dir/sys" --kind xe --gpus 2 --vgpus 9
compare_with_abi "$dir/sys" 0000:00:02.0 counters
compare_with_abi "$dir/sys" 0000:01:00.0 counters
finish
