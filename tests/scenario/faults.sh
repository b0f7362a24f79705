# A daemon that gets faults of tests/faults/inject.c. Sourced by a scenario, also instead of lib.sh.
# shellcheck shell=sh disable=SC2154
# shellcheck source=tests/scenario/lib.sh
command -v finish >/dev/null || . "$(dirname "$0")/../lib.sh"
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
[ -z "${GOVER_ASAN-}" ] || skip_all "the injector replaces functions that AddressSanitizer needs"
# shellcheck disable=SC2034 # read by lib.sh
daemon_env="LD_PRELOAD=$B/tests/fault-inject.so GOVER_FAULTS=$dir/page"

fault() { # fault new | clear | memory | CALL PATTERN ACTION: see tests/faults/arm.py
  "$python" "$top/tests/faults/arm.py" "$dir/page" "$@"
}
fault new || skip_all "no python3 here"
