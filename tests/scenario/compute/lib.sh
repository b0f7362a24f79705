# Shared by the scenarios of compute tenants: a device double for the scenario, tenants on it, and its truth.
# Sourced by a scenario, also instead of lib.sh.
# shellcheck shell=sh
command -v finish >/dev/null || . "$(dirname "$0")/../lib.sh"
double=$B/libgover-double.so
state=${dir:?}/double.state
truth_program=$B/tests/double-truth
[ -e "$double" ] || skip_all "libgover-double.so is not built: no OpenCL headers"
export OCL_ICD_VENDORS="$double" GOVER_DOUBLE="$state"
unset OPENCL_LAYERS GOVER_DOUBLE_KERNELS GOVER_DOUBLE_MEMORY GOVER_DOUBLE_LABEL

tenant() { # tenant LABEL [OPTION...]: runs cl-tenant as a client of the tenant LABEL
  tenant_label=$1
  shift
  GOVER_DOUBLE_LABEL=$tenant_label "$B/tests/cl-tenant" "$@" 2>&1
}

tenant_start() { # tenant_start LABEL [OPTION...]: the same in the background; sets $tenant_pid; output in $dir/LABEL.out
  tenant_label=$1
  shift
  GOVER_DOUBLE_LABEL=$tenant_label "$B/tests/cl-tenant" "$@" >"$dir/$tenant_label.out" 2>&1 &
  # shellcheck disable=SC2034 # read by scenarios
  tenant_pid=$!
}

truth() { # truth LABEL NAME: prints a value of a tenant, or of the device if LABEL is "device"
  "$truth_program" "$state" | awk -v label="$1" -v name="$2" '
    (label == "device" && $1 == "device") || ($1 == "tenant" && $2 == "label=" label) {
      for (i = 2; i <= NF; i++) if (split($i, part, "=") == 2 && part[1] == name) print part[2]
    }'
}

at_least() { # at_least LABEL NAME N: succeeds if the value of the truth is N or more
  value=$(truth "$1" "$2")
  [ "${value:-0}" -ge "$3" ]
}

inject() { # inject OPTION...: changes the double, for example --fail-enqueue 3
  "$truth_program" "$@" "$state" >/dev/null
}

mmr() { # mmr LABEL...: prints the minimum over the maximum of the busy times of tenants, in thousandths
  for label; do truth "$label" busy_ns; done | awk '
    NR == 1 || $1 < min { min = $1 }
    $1 > max { max = $1 }
    END { if (max > 0) print int(1000 * min / max); else print 0 }'
}
