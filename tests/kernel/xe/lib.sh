# Shared by the tests of SR-IOV stand-ins, in the kernel and in user space. Sourced after tests/scenario/lib.sh, never run.
# shellcheck shell=sh disable=SC2154 # top and dir are set by lib.sh

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
  ok "$2: all rules were checked" test "$abi_rc" -eq 0 -a ! -s "$dir/abi.err"
}
