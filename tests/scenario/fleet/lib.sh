# Functions for the scenarios of gover-fleet: the daemon, its hook, and a libvirtd with folders of its own. Sourced instead of lib.sh.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables of lib.sh and for it
. "$(dirname "$0")/../lib.sh"
fleet_conf_file=$dir/fleet.conf
fleet_status=$dir/status.json
fleet_hook=$dir/hook.sock
fleet_pid='' libvirt_pid=''
uuid=11111111-2222-3333-4444-555555555555
# Offers are made soon, and a sale is on probation for two seconds.
conf_extra='[policy]
fund_window_s = 2
[offer]
max_vgpus = 8
probation_s = 1'

[ -x "$B/gover-fleet" ] || skip_all "gover-fleet was not built: no libvirt headers"

fleet_conf() { # fleet_conf [KEYS OF FLEET]: the configuration; $libvirt_uri is the URI of libvirt
  cat >"$fleet_conf_file" <<EOF
[fleet]
host = node-1
gover_socket = $sock
hook_socket = $fleet_hook
status_file = $fleet_status
${1-}
[libvirt]
uri = ${libvirt_uri-}
EOF
}

start_placement() { # starts fake-placement.py; sets cloud_pid and cloud_url
  python3 "$top/tests/fleet/fake-placement.py" >"$dir/cloud.out" 2>&1 &
  cloud_pid=$!
  cleanup="$cleanup; kill $cloud_pid 2>/dev/null"
  until_ok 20 grep -q '^ready' "$dir/cloud.out" && cloud_url=http://127.0.0.1:$(awk '/^ready/ { print $2 }' "$dir/cloud.out")
}

placement_conf() { # adds Placement without Keystone to the configuration
  cat >>"$fleet_conf_file" <<EOF
[cloud]
kind = openstack
auth = none
placement_url = $cloud_url
EOF
}

fleet_is() { # fleet_is FILTER: succeeds if the gojq filter returns true for the status file
  gojq -e "$1" "$fleet_status" >/dev/null
}

start_fleet() { # starts gover-fleet and waits for its socket
  # shellcheck disable=SC2086 # a list of variables
  env ${fleet_env-} "$B/gover-fleet" --config "$fleet_conf_file" >>"$dir/fleet.log" 2>&1 &
  fleet_pid=$!
  until_ok 20 test -S "$fleet_hook"
}

stop_fleet() { # stop_fleet [SIGNAL]: sets $stopped to the exit status
  kill "-${1:-TERM}" "$fleet_pid" 2>/dev/null
  wait "$fleet_pid" 2>/dev/null
  stopped=$?
  fleet_pid=''
}

logged() { # logged TEXT: succeeds if the log of gover-fleet contains it
  grep -qF -- "$1" "$dir/fleet.log"
}

# shellcheck disable=SC2016 # XML has quotes
domain_xml() { # domain_xml NAME UUID FLAVOR [TYPE]: prints the XML of a domain; an empty FLAVOR wants no vGPU
  cat <<EOF
<domain type='${4:-test}'><name>$1</name><uuid>$2</uuid><memory unit='MiB'>32</memory><vcpu>1</vcpu>
<os><type arch='x86_64'>hvm</type></os>
${3:+<metadata><gover:vgpu xmlns:gover='urn:gover' flavor='$3'/></metadata>}
</domain>
EOF
}

hook() { # hook NAME [OPERATION] <XML: runs the hook as libvirt does; sets $hook_status, the message is in $dir/hook.err
  "$B/gover-fleet" --config "$fleet_conf_file" --hook "$1" "${2:-prepare}" begin - 2>"$dir/hook.err"
  hook_status=$?
}

open_offer() { # open_offer: waits for an open offer
  until_ok 30 that /v1/offers '[.offers[] | select(.state == "open")] | length > 0'
}

sold() { # sold VGPU: succeeds if gover-fleet has a contract for it
  that "/v1/vgpus/$1" '.labels.fleet == "libvirt"'
}

unsold() { # unsold VGPU: succeeds if the vGPU does not exist
  api GET "/v1/vgpus/$1" >/dev/null
  [ "$(status)" = 404 ]
}

# libvirtd gets its own mount namespace, because its folders cannot be configured. With $libvirt_host, a digit, it is another host
# for libvirt: it has a name and a UUID of its own.
start_libvirt() { # start_libvirt: starts libvirtd with the hook, and sets libvirt_socket
  libvirt_socket=$dir/libvirt-sock
  cat >"$dir/libvirtd.conf" <<EOF
unix_sock_dir = "$dir"
auth_unix_rw = "none"
auth_unix_ro = "none"
host_uuid = "00000000-0000-4000-8000-00000000000${libvirt_host:-1}"
EOF
  cat >"$dir/hook-script" <<EOF
#!/bin/sh
exec "$B/gover-fleet" --config "$fleet_conf_file" --hook "\$@"
EOF
  cat >"$dir/qemu.conf" <<EOF
user = "root"
group = "root"
dynamic_ownership = 0
security_driver = "none"
namespaces = []
cgroup_controllers = []
stdio_handler = "file"
${libvirt_host:+migration_host = \"127.0.0.2\"}
EOF
  chmod +x "$dir/hook-script"
  # shellcheck disable=SC2016 # the inner shell expands these
  unshare -m ${libvirt_host:+-u} --propagation private sh -c '
    [ -z "$1" ] || hostname "node-$1" || exit
    "$2/tests/fleet/libvirt-user" "$0" || exit
    for folder in /run/libvirt /etc/libvirt /var/lib/libvirt /var/log/libvirt /var/cache/libvirt; do
      mkdir -p "$folder" "$0/ns$folder" && mount --bind "$0/ns$folder" "$folder" || exit
    done
    mkdir -p /etc/libvirt/hooks /etc/libvirt/qemu && cp "$0/hook-script" /etc/libvirt/hooks/qemu &&
      cp "$0/qemu.conf" /etc/libvirt/qemu.conf && exec libvirtd -f "$0/libvirtd.conf" -p "$0/libvirtd.pid"' \
    "$dir" "${libvirt_host-}" "$top" >>"$dir/libvirtd.log" 2>&1 &
  libvirt_pid=$!
  until_ok 30 test -S "$libvirt_socket"
}

hold_domains() { # hold_domains: keeps a connection, because the test driver forgets its domains without one
  virsh -q -c "test+unix:///default?socket=$dir/libvirt-sock" event --loop --event lifecycle >"$dir/events" 2>&1 &
  cleanup="$cleanup; kill $! 2>/dev/null"
}

stop_libvirt() { # stop_libvirt [SIGNAL]
  kill "-${1:-TERM}" "$libvirt_pid" 2>/dev/null
  wait "$libvirt_pid" 2>/dev/null
  libvirt_pid=''
  rm -f "$dir"/libvirt-*sock* "$dir/libvirtd.pid"
}

need_libvirt() { # need_libvirt: skips the scenario without libvirtd or mount namespaces
  if ! command -v libvirtd >/dev/null || ! command -v virsh >/dev/null; then
    skip_all "no libvirtd (libvirt-daemon)"
  fi
  unshare -m --propagation private mount -t tmpfs none "$dir" 2>/dev/null || skip_all "no mount namespaces"
}

# shellcheck disable=SC2016 # run at the exit
cleanup='[ -n "$fleet_pid" ] && kill -CONT "$fleet_pid" && kill -KILL "$fleet_pid"; [ -n "$libvirt_pid" ] && kill "$libvirt_pid"'
