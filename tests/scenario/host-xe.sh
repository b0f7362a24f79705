# The hosts "xe" (tests/kernel/gover_xe, with the GPU $GOVER_XE_PF) and "fuse-xe" (gover-sim mount --kind xe) of the closed loop.
# Sourced by host.sh, never run; replaces its functions that depend on the bus.
#
# An administrator enables all VFs at once, and a change of their number resets all of them. So a scenario names its vGPUs
# and their first caps before host_setup: host_vfs='NAME:CAP NAME:CAP', in the order of the VFs.
# shellcheck shell=sh disable=SC2034,SC2154
host_vfs=''

vf_of() { # vf_of NAME: prints the number of its VF
  echo "$host_vfs" | tr ' ' '\n' | awk -F : -v name="$1" '$1 == name { print NR }'
}

quantum_file() { echo "$host_parent/sriov_admin/$1/profile/exec_quantum_ms"; } # quantum_file FUNCTION

# Enables VFs, without quanta. The load of each tenant continues.
enable_vfs() { # enable_vfs NAME:CAP...
  echo 0 >"$host_parent/sriov_numvfs"
  [ $# -eq 0 ] || echo $# >"$host_parent/sriov_numvfs"
  vf=0
  for pair; do
    vf=$((vf + 1))
    load=$(cat "$dir/load.${pair%:*}" 2>/dev/null) && echo "$load" >"$host_parent/gover_sim/vf$vf"
  done
}

# Writes quanta in the proportion of the caps. The PF has 1 ms: its own quantum stays, whatever the caps are.
write_quanta() { # write_quanta NAME:CAP...
  vf=0
  for pair; do
    vf=$((vf + 1))
    echo "${pair#*:}" >"$(quantum_file vf$vf)"
  done
  echo 1 >"$(quantum_file pf)"
}

host_setup() {
  case $GOVER_HOST in
  fuse-xe)
    fuse_mount "$dir/sys" --kind xe --speed "$speed"
    host_sys=$dir/sys
    host_pf=0000:00:02.0
    ;;
  xe)
    host_sys=/sys
    host_pf=$GOVER_XE_PF
    [ -d "$host_sys/bus/pci/drivers/xe/$host_pf" ] || skip_all "$host_pf has no driver xe"
    cleanup="host_clear; $cleanup"
    ;;
  esac
  host_parent=$host_sys/bus/pci/drivers/xe/$host_pf
  # shellcheck disable=SC2086 # several pairs
  enable_vfs $host_vfs
  # shellcheck disable=SC2086 # several pairs
  write_quanta $host_vfs
}

host_clear() { enable_vfs; }

host_conf() {
  echo '[gpu gpu0]'
  printf 'backend = xe\nroot = %s\nparent = %s\n' "$host_sys" "$host_pf"
  printf 'speed = %s\nsharing = %s\n' "$speed" "${sharing:-hard}"
}

host_leases() { false; } # the driver keeps a quantum until the VFs are disabled

name_vgpu() { # name_vgpu NAME: sets $uuid and $uuid_NAME to the id of its vGPU, the PCI address of the VF
  uuid=$(basename "$(readlink "$host_parent/virtfn$(($(vf_of "$1") - 1))")" | tr : _)
  eval "uuid_$1=\$uuid"
}

host_vgpu() { # host_vgpu NAME CAP [CONTRACT]
  name_vgpu "$1"
  contract "$uuid" "${3:-$2}" && echo "$2" >"$dir/cap.$1"
}

# A change of the number of VFs would close the offer. So the VF of a newcomer exists from the beginning, with a cap of its own,
# and counts as a vGPU.
host_room() { echo $(($1 + 1)); }

host_newcomer() { # host_newcomer NAME CAP
  name_vgpu "$1"
  until_ok 20 that "/v1/vgpus/$uuid" .found
}

host_removes_one() { false; }

host_remove() { # host_remove NAME: NAME is the last VF
  gone=${host_vfs##* }
  [ "${gone%:*}" = "$1" ] || return 1
  # shellcheck disable=SC2086 # several pairs
  enable_vfs ${host_vfs% *}
}

host_again() { # host_again NAME CAP
  # shellcheck disable=SC2086 # several pairs
  enable_vfs $host_vfs
}

host_load() { # host_load NAME PCT
  echo "$2" >"$dir/load.$1"
  echo "$2" >"$host_parent/gover_sim/vf$(vf_of "$1")"
}

host_round() { # sets $round, the sum of all quanta
  round=0
  for quantum_path in "$(quantum_file pf)" $(seq -f "$host_parent/sriov_admin/vf%g/profile/exec_quantum_ms" 1 "$(cat "$host_parent/sriov_numvfs")"); do
    read -r ms <"$quantum_path" || return 1
    round=$((round + ms))
  done
}

read_share() { # read_share NAME: sets $share, its quantum in percent of the round
  read -r quantum_ms <"$(quantum_file "vf$(vf_of "$1")")" && host_round || return 1
  share=$(((200 * quantum_ms + round) / (2 * round)))
}

read_known_cap() { # read_known_cap NAME: sets $cap to the cap that the daemon reports or last reported
  cap=''
  ! kill -0 "$daemon_pid" 2>/dev/null || cap=$(vgpu "$1" .cap_pct 2>/dev/null)
  case $cap in '' | null | *[!0-9]*) cap=$(cat "$dir/cap.$1" 2>/dev/null || echo "$share") ;; esac
}

# Prints the cap in force. A quantum is a whole number of ms, so it does not show its cap exactly. If it is within one point of
# the known cap, that cap is printed, otherwise its share of the round. The daemon writes several quanta one after another, so
# a difference is read again.
host_cap() { # host_cap NAME
  for _ in 1 2 3 4; do
    read_share "$1" || return 1
    read_known_cap "$1"
    [ $((cap - share)) -gt 1 ] || [ $((share - cap)) -gt 1 ] || break
    cap=$share
    sleep 0.1
  done
  echo "$cap" | tee "$dir/cap.$1"
}

# Writes the quantum whose share is nearest to PCT, and sets $written to that share. The cap in force is written unchanged.
host_write_cap() { # host_write_cap NAME PCT: a foreign write
  file=$(quantum_file "vf$(vf_of "$1")")
  written=$2
  read -r quantum_ms <"$file" && host_round || return 1
  if [ "$(host_cap "$1")" != "$2" ]; then
    others=$((round - quantum_ms))
    quantum_ms=$((($2 * others + (100 - $2) / 2) / (100 - $2)))
    written=$(((200 * quantum_ms + others + quantum_ms) / (2 * (others + quantum_ms))))
  fi
  echo "$quantum_ms" >"$file"
}
