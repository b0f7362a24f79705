#!/bin/sh
# Tests the OpenCL interface of the device double. The same client passes on PoCL, which executes the kernels.
. "$(dirname "$0")/../compute/lib.sh"

client() { # client: runs cl-api on the device of OCL_ICD_VENDORS and prints the failed checks
  "$B/tests/cl-api" >"$dir/api" 2>"$dir/api.err" && grep -q '^1\.\.' "$dir/api" && ! grep -q '^not ok' "$dir/api" && return
  grep -v '^ok' "$dir/api" "$dir/api.err"
  return 1
}

ok "the device double passes all checks of cl-api" client
is "it holds no memory after the client has ended" "$(truth device bytes)" 0
is "its queue is empty" "$(truth device queued)" 0

if command -v nm >/dev/null; then
  is "the library exports only the functions of the loader" \
    "$(nm -D --defined-only "$double" | awk '$2 == "T" { print $3 }' | sort | tr '\n' ' ')" \
    "clGetExtensionFunctionAddress clGetPlatformInfo clIcdGetPlatformIDsKHR "
fi

# Times of kernels from the environment and from build options, in a client that gives no argument for them.
timed() { # timed KERNELS: the busy time of one run of cl-api's kernels without an argument ns
  rm -f "$dir/timed.state"
  GOVER_DOUBLE=$dir/timed.state GOVER_DOUBLE_KERNELS=$1 "$B/tests/cl-api" >/dev/null 2>&1
  "$truth_program" "$dir/timed.state" | awk '$1 == "device" { for (i = 2; i <= NF; i++) if (sub("busy_ns=", "", $i)) print $i }'
}
default_ns=$(timed '')
is "a time in GOVER_DOUBLE_KERNELS is used (one launch of double_add)" "$(($(timed 'double_add=1010us') - default_ns))" 1000000
is "a time per work-group is used (12 groups of double_ids)" "$(($(timed 'double_ids=10us/group') - default_ns))" 110000

pocl=/etc/OpenCL/vendors/pocl.icd
if [ -e "$pocl" ] && [ -z "${GOVER_ASAN-}" ]; then
  OCL_ICD_VENDORS=$pocl POCL_CACHE_DIR=$dir/pocl ok "PoCL passes the same checks" client
else
  ok "PoCL passes the same checks # SKIP no PoCL, or a sanitizer" true
fi
finish
