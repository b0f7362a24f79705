# System roots of other releases in build/hosts/RELEASE/root, made once by debootstrap and used again by make check-hosts and
# the suites of the kernel modules. Sourced after B, the absolute path of the build folder, is set. Changes nothing outside
# the build folder.
# shellcheck shell=sh

# Prints the reason why this machine cannot have the root of a release, or nothing.
root_obstacle() { # root_obstacle RELEASE
  if [ "$(id -u)" -ne 0 ]; then
    echo "not root"
  elif ! unshare --mount --pid --fork true 2>/dev/null; then
    echo "namespaces are not permitted"
  elif [ ! -e "/usr/share/debootstrap/scripts/$1" ]; then
    echo "debootstrap of this machine does not know $1"
  fi
}

# Makes a root, of the release NAME or of another one; fails with the reason in build/hosts/NAME/debootstrap.log. MIRROR is
# the archive, if not debootstrap's own. debootstrap mounts in a namespace of its own, so no mount can remain.
make_root() { # make_root NAME [RELEASE]
  place=$B/hosts/$1
  [ ! -e "$place/complete" ] || return 0
  rm -rf "$place"
  mkdir -p "$place"
  # shellcheck disable=SC2086 # one word or none
  unshare --mount debootstrap --variant=minbase --include=iproute2 "${2:-$1}" "$place/root" ${MIRROR-} \
    >"$place/debootstrap.log" 2>&1 || return 1
  echo force-unsafe-io >"$place/root/etc/dpkg/dpkg.cfg.d/unsafe-io" # a root that was half installed is made again
  # The archive can be a snapshot, whose lists have expired.
  echo 'Acquire::Check-Valid-Until "false";' >"$place/root/etc/apt/apt.conf.d/snapshot"
  # No package may start a service in the root.
  printf '#!/bin/sh\nexit 101\n' >"$place/root/usr/sbin/policy-rc.d"
  chmod 755 "$place/root/usr/sbin/policy-rc.d"
  : >"$place/complete"
}

# Copies the tree that git would commit to a folder of a root. The objects of the last run stay there.
copy_tree() { # copy_tree ROOT FOLDER
  rm -rf "${1:?}/srv/build"
  [ ! -d "$1$2/build" ] || mv "$1$2/build" "$1/srv/build"
  rm -rf "${1:?}${2:?}"
  mkdir -p "$1$2"
  git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null | tar -c -T - | tar -x -C "$1$2"
  [ ! -d "$1/srv/build" ] || mv "$1/srv/build" "$1$2/build"
  rm -rf "$1$2/build/host"
}

# Runs a command in a root. The root is a mount, so that the command can make mount namespaces. /tmp is in memory, as it is by
# default from Debian 13 on. Mounts and processes end with the command. $namespaces are further options of unshare, $shared
# are folders that have the same path inside.
enter_root() { # enter_root ROOT FOLDER COMMAND...
  root=$1 folder=$2
  shift 2
  # shellcheck disable=SC2016,SC2086 # variables of the inner shell; several words or none
  unshare --mount --pid --fork --kill-child --ipc --uts ${namespaces-} sh -c '
    root=$1 shared=$2 folder=$3
    shift 3
    mount --bind "$root" "$root" && mount --rbind /dev "$root/dev" && mount -t tmpfs -o mode=1777 shm "$root/dev/shm" &&
      mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount -t tmpfs -o mode=755 run "$root/run" &&
      mount -t tmpfs -o mode=1777 tmp "$root/tmp" || exit 1
    for path in $shared; do
      mkdir -p "$root$path" && mount --bind "$path" "$root$path" || exit 1
    done
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    cd "$root" || exit 1
    # With chroot alone, nsenter to a mount namespace in the root would lead out of the root.
    if pivot_root . . 2>/dev/null; then
      umount -l . || exit 1
    fi
    exec chroot . env -i -C "$folder" PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
      DEBIAN_FRONTEND=noninteractive ${http_proxy:+"http_proxy=$http_proxy"} "$@"' sh "$root" "${shared-}" "$folder" "$@"
}
