# Functions for tests of simulated hosts with SR-IOV, in the kernel and in user space. Sourced after tests/scenario/lib.sh, never run.
# shellcheck shell=sh disable=SC2154,SC2034 # top and dir are set by lib.sh, pmu_type is read by the tests

compare_with_abi() { # compare_with_abi ROOT PF [FOLDER...]: one result for each rule of abi.py
  python3 "$top/tests/kernel/xe/abi.py" "$top/tests/kernel/xe/sysfs-driver-intel-xe-sriov" "$@" >"$dir/abi" 2>"$dir/abi.err"
  abi_rc=$?
  # A failed result must also fail the test, so the lines are read in this shell.
  while IFS= read -r line; do
    case $line in
    'ok '*)
      n=$((n + 1))
      echo "ok $n - $2: ${line#ok }"
      ;;
    'not ok '*)
      n=$((n + 1)) failures=$((failures + 1))
      echo "not ok $n - $2: ${line#not ok }"
      ;;
    *) echo "$line" ;;
    esac
  done <"$dir/abi"
  ok "$2: all rules were checked" sh -c "cat '$dir/abi.err'; exit $abi_rc"
}

# --- a GPU in the virtual machine of check-kernel-xe ---

gpu() { # gpu N: uses the GPU number N, from 1; each test has its own GPUs, so that tests can run in parallel
  pf=$(printf '0000:%02x:00.0' "$1")
  device=/sys/bus/pci/drivers/xe/$pf
  admin=$device/sriov_admin
  pmu=/sys/bus/event_source/devices/xe_$(echo "$pf" | tr : _)
  read -r pmu_type <"$pmu/type"
}

# functions PRIORITY PF_QUANTUM QUANTUM...: enables a VF for each QUANTUM (ms); the PF is "pf"
functions() {
  priority=$1 pf_quantum=$2
  shift 2
  echo 0 >"$device/sriov_numvfs"
  echo $# >"$device/sriov_numvfs"
  echo "$priority" >"$admin/.bulk_profile/sched_priority"
  echo "$pf_quantum" >"$admin/pf/profile/exec_quantum_ms"
  i=0
  for quantum; do
    i=$((i + 1))
    echo "$quantum" >"$admin/vf$i/profile/exec_quantum_ms"
  done
}

refused() { # refused VALUE FILE: prints the error of writing
  echo "$1" | cat 2>&1 >"$2" | sed 's/.*: //'
}

load() { echo "$2" >"$device/gover_sim/$1"; } # load FUNCTION PCT

quantum() { # quantum FUNCTION: prints the quantum
  cat "$admin/$1/profile/exec_quantum_ms"
}

near() { # near GOT WANTED TOLERANCE
  test "$1" -ge $(($2 - $3)) -a "$1" -le $(($2 + $3))
}
