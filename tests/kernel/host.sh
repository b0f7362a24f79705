# Shared by make check-kernel, check-kernel-i915 and check-guest: downloads and unpacks Debian's kernel, boots a virtual
# machine with the root of the host (tests/kernel/init), and evaluates the tests that ran there. Sourced by a script that
# sets $suite first. No kernel is installed. If a requirement is missing, the suite is skipped with the reason.
# KERNEL selects the kernel: 6.1 of Debian 12 (default), 6.12 of Debian 13, or newest, that of Debian sid. The other releases'
# modules are compiled in a system root of the release (tests/root.sh), and their tests run in the root of this machine.
# Never uses KVM, because on some machines a guest hangs with /dev/kvm.
# shellcheck shell=sh disable=SC2034,SC2154 # headers and out are read by the suites, which set suite
set -u
cd "$(dirname "$0")/.." || exit 1
top=$PWD
B=${B:-build}
case $B in /*) ;; *) B=$top/$B ;; esac
export B
. tests/root.sh
work=$B/kernel
KERNEL=${KERNEL:-6.1}
tag=${suite#check}
tag=${tag#-kernel}
out=$work/out$tag
complaints=$work/complaints$tag
n=0 passed=0 failed=0 skipped=0

sum() {
  echo "1..$n"
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
  exit $?
}

skip() { # skip "text" REASON
  n=$((n + 1)) skipped=$((skipped + 1))
  echo "ok $n - $1 # SKIP $2"
}

skip_all() {
  skip "$suite" "$1"
  sum
}

ok() { # ok "text" FILE: passes if FILE with complaints is empty
  n=$((n + 1))
  if [ ! -s "$2" ]; then
    passed=$((passed + 1))
    echo "ok $n - $1"
  else
    failed=$((failed + 1))
    echo "not ok $n - $1"
    tail -n 30 "$2" | sed 's/^/# /'
  fi
}

# --- the kernel ---

# Runs a command where the compiler and the headers of the kernel are.
at_headers() {
  if [ -z "$kernel_root" ]; then "$@"; else shared="$top $B" enter_root "$kernel_root" "$top" "$@"; fi
}

# Downloads and unpacks the packages of the kernel. From 7.x on, linux-image only depends on linux-binary, linux-modules and
# linux-base, which contains modules.builtin.
fetch_kernel() {
  mkdir -p "$image/deb"
  chmod 777 "$image/deb" # apt downloads as another user
  # shellcheck disable=SC2016 # variables of the inner shell
  fetch='cd "$1" && apt-get -q download $(apt-cache depends "$2" | sed -n "s/.*Depends: \(linux-\(base\|binary\|modules\)-.*\)/\1/p") "$2"'
  at_headers sh -c "$fetch" sh "$image/deb" "linux-image-$kver" ||
    at_headers sh -c "apt-get -q update && $fetch" sh "$image/deb" "linux-image-$kver" || return 1
  for deb in "$image"/deb/*.deb; do
    dpkg-deb -x "$deb" "$image/root" || return 1
  done
  rm -r "$image/deb"
  [ -e "$image/root/lib" ] || ln -s usr/lib "$image/root/lib" # Debian 13
  depmod -b "$image/root" "$kver"
}

# Extracts the uncompressed kernel, which boots faster, from the xz format. QEMU also boots the compressed kernel.
unpack_vmlinux() {
  packed=$image/root/boot/vmlinuz-$kver
  [ -e "$packed" ] || packed=$image/root/lib/modules/$kver/vmlinuz # from 7.x on
  at=$(LC_ALL=C grep -abom 1 "$(printf '\3757zXZ')" "$packed" | cut -d : -f 1)
  [ -z "$at" ] || tail -c "+$((at + 1))" "$packed" | xz -dc --single-stream >"$image/vmlinux.new" 2>/dev/null
  LC_ALL=C head -c 4 "$image/vmlinux.new" 2>/dev/null | grep -q ELF || cp "$packed" "$image/vmlinux.new" || return 1
  mv "$image/vmlinux.new" "$image/vmlinux"
}

need_packages() { # of the machine, or of the root of the release: 6.12 or newest
  case $KERNEL in
  6.1) kernel_root='' && dist/install-deps kernel ;;
  *)
    make_root "$release" || { cat "$B/hosts/$release/debootstrap.log" && return 1; }
    kernel_root=$B/hosts/$release/root
    # One call of apt installs headers and source, so that their versions are equal.
    # shellcheck disable=SC2016,SC2086 # variables of the inner shell; one word or none
    dist/install-deps kernel && at_headers sh -c '
      dpkg-query -W linux-headers-amd64 make sparse "$@" >/dev/null 2>&1 || {
        apt-get -q update && apt-get -q -y --no-install-recommends install linux-headers-amd64 make gcc libc6-dev sparse xz-utils patch "$@"
      }' sh ${root_package-}
    ;;
  esac >"$work/install.log" 2>&1
}

need_kernel() { # sets $headers, $kver and $image, or skips the suite
  [ "$(uname -m)" = x86_64 ] || skip_all "needs x86_64, this is $(uname -m)"
  case $KERNEL in
  6.1) release='' ;;
  6.12) release=trixie ;;
  newest) release=sid ;;
  *) echo "KERNEL=$KERNEL: unknown (allowed: 6.1, 6.12, newest)" >&2 && exit 2 ;;
  esac
  [ -z "$release" ] || [ -z "$(root_obstacle "$release")" ] || skip_all "$(root_obstacle "$release")"
  mkdir -p "$work"
  if ! need_packages; then
    tail -n 5 "$work/install.log" | sed 's/^/# /'
    skip_all "its packages could not be installed"
  fi
  version=${KERNEL#newest} # any version
  headers=$(find "$kernel_root/usr/src" -maxdepth 1 -name "linux-headers-${version:-[0-9]*}.*-amd64" ! -name '*-cloud-*' \
    ! -name '*-rt-*' -printf '/usr/src/%f\n' | sort -V | tail -n 1)
  [ -n "$headers" ] || skip_all "needs the headers of Debian's kernel $KERNEL, linux-headers-amd64"
  kver=${headers#/usr/src/linux-headers-}
  image=$work/$kver
  [ ! -s "$image/vmlinux" ] || return 0
  rm -rf "$image"
  if ! fetch_kernel >"$work/fetch.log" 2>&1; then
    tail -n 5 "$work/fetch.log" | sed 's/^/# /'
    skip_all "linux-image-$kver could not be downloaded"
  fi
  unpack_vmlinux || skip_all "linux-image-$kver could not be unpacked"
}

# --- a module ---

# Kbuild writes objects beside the sources. Links to the sources keep the objects in the build folder.
build_module() { # build_module NAME [VARIABLE...]
  name=$1
  shift
  mkdir -p "$work/$name"
  find "$work/$name" -type l -delete
  ln -s "$top/tests/kernel/$name"/* "$work/$name"
  at_headers make --no-print-directory -C "$headers" "M=$work/$name" "GOVER=$top" CC="${KERNEL_CC:-gcc}" "$@" modules 2>&1
}

# Debian's headers from 7.x on have no scripts/checker-valid.sh, without which Kbuild sets KBUILD_CHECKSRC to 0.
find_sparse() { # sets $sparse to variables of Kbuild, or to nothing
  sparse=''
  ! at_headers sh -c 'command -v sparse' >/dev/null || sparse='C=2 KBUILD_CHECKSRC=2'
}

compile_module() { # compile_module NAME: one build runs both gcc and sparse; ends the suite without a module
  find_sparse
  rm -f "$work/$1"/*.o "$work/$1"/*.ko
  # shellcheck disable=SC2086 # one word or none
  build_module "$1" W=1 $sparse >"$work/build$tag.log"
  [ -f "$work/$1/$1.ko" ] || echo "no module was built" >>"$work/build$tag.log"
  [ -z "$sparse" ] || grep -q '^  CHECK ' "$work/build$tag.log" || echo "*** sparse has checked no file" >>"$work/build$tag.log"
  grep -E 'warning|error|\*\*\*|no module' "$work/build$tag.log" >"$complaints"
  ok "$1 compiles against $kver without a warning of gcc${sparse:+ or sparse} (W=1${sparse:+ C=2})" "$complaints"
  [ -f "$work/$1/$1.ko" ] || sum
  [ -n "$sparse" ] || skip "sparse reports nothing" "sparse is not installed"
}

# --- style ---

have_checkpatch() { # finds or unpacks checkpatch.pl
  for scripts in "$image/scripts" "$work/i915/source/scripts"; do
    [ ! -f "$scripts/checkpatch.pl" ] || return 0
  done
  [ -f /usr/src/linux-source-6.1.tar.xz ] || return 1
  scripts=$image/scripts
  XZ_DEFAULTS=-T0 tar -xf /usr/src/linux-source-6.1.tar.xz -C "$image" --strip-components=1 \
    linux-source-6.1/scripts/checkpatch.pl linux-source-6.1/scripts/spelling.txt linux-source-6.1/scripts/const_structs.checkpatch
}

# checkpatch expects // in the licence line, but the project uses block comments. Only gover-compat.h, for modules outside the
# kernel's tree, uses the kernel's version.
checkpatch() {
  perl "$scripts/checkpatch.pl" --no-tree --terse --no-summary -q --max-line-length=100 --ignore SPDX_LICENSE_TAG,LINUX_VERSION_CODE "$@" 2>&1 |
    grep -v '^total: 0 errors, 0 warnings'
}

check_style() { # check_style NAME FILE...: writes the complaints about the module and the FILEs of kernel/sched/ to $style
  name=$1
  shift
  {
    checkpatch --strict -f "tests/kernel/$name"/*.[ch] kernel/include/*.h
    checkpatch -f "$@" # not --strict, because kernel/sched/ uses the types of C, not of the kernel
  } >"$style"
}

# boot_and_check_style NAME FILES GUEST MODULE...: both at the same time
boot_and_check_style() {
  style=$work/style$tag checking=''
  if have_checkpatch; then
    # shellcheck disable=SC2086 # several files
    check_style "$1" $2 &
    checking=$!
  fi
  shift 2
  boot "$@"
  if [ -n "$checking" ]; then
    wait "$checking"
    ok "checkpatch reports nothing" "$style"
  else
    skip "checkpatch reports nothing" "linux-source-6.1 is not installed"
  fi
}

# --- the virtual machine ---

modules_for() { # modules_for MODULE...: the files of the modules and their dependencies, in order
  for module; do
    /sbin/modprobe -d "$image/root" -S "$kver" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
  done | awk '!seen[$0]++'
}

# Busybox and insmod of some machines load no compressed module.
put_module() { # put_module FILE FOLDER: prints the name of the file
  case $1 in
  *.xz) xz -dc "$1" >"$2/$(basename "$1" .xz)" && basename "$1" .xz ;;
  *) cp "$1" "$2" && basename "$1" ;;
  esac
}

# Starting a program is slow in the virtual machine, so the programs that the tests call often are small.
make_tools() {
  rm -rf "${work:?}/bin"
  mkdir "$work/bin"
  for tool in cat sleep dirname basename mkdir rm; do
    ln -s "$(command -v busybox)" "$work/bin/$tool"
  done
  "${CC:-gcc}" -std=c11 -D_GNU_SOURCE -O2 -static -o "$work/bin/curl" tests/kernel/curl.c
}

# pack_initramfs GUEST MODULE...: packs the kernel modules and an init that runs the script GUEST in the guest. If $unit
# is set, systemd then starts that unit.
pack_initramfs() {
  guest=$1
  shift
  root=$work/initramfs$tag
  rm -rf "$root"
  mkdir -p "$root/bin" "$root/modules" "$root/proc" "$root/sys" "$root/dev"
  cp "$(command -v busybox)" "$root/bin/busybox"
  for tool in sh mount insmod poweroff mkdir chroot sync ifconfig ln; do
    ln -s busybox "$root/bin/$tool"
  done
  modules_for virtio_pci 9pnet_virtio 9p overlay "$@" | while read -r file; do
    put_module "$file" "$root/modules"
  done >"$root/modules/list"
  printf "top='%s'\nB='%s'\nout='%s'\nguest='%s'\nunit='%s'\n" "$top" "$B" "$out" "$guest" "${unit-}" >"$root/values"
  cp tests/kernel/init "$root/init"
  (cd "$root" && find . | cpio --quiet -o -H newc) >"$root.cpio"
}

# The guest uses the time stamp counter of the host. On a busy machine the kernel of the guest would measure a wrong
# frequency, so the frequency is passed on the kernel command line.
tsc_khz() {
  [ -x "$work/tsc-khz" ] || "${CC:-gcc}" -O1 -o "$work/tsc-khz" tests/kernel/tsc-khz.c || return
  "$work/tsc-khz"
}

start_qemu() { # start_qemu [OPTION...]: returns after the power-off of the guest
  timeout 1200 qemu-system-x86_64 -accel tcg,thread=multi -cpu Nehalem,+rdrand -M q35 -smp 2 -m 1024 -nodefaults -display none \
    -no-reboot -serial "file:$out/console" -kernel "$image/vmlinux" -initrd "$root.cpio" \
    -append "console=ttyS0 quiet panic=-1 oops=panic mitigations=off tsc=reliable tsc_early_khz=$(tsc_khz) random.trust_cpu=on" \
    -virtfs local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap \
    -virtfs "local,path=$out,mount_tag=out,security_model=none" "$@" >"$out/qemu.log" 2>&1
}

boot() { # boot GUEST MODULE...: the guest can read the files in $out; $devices are options of QEMU
  make_tools
  pack_initramfs "$@"
  # shellcheck disable=SC2086 # several options
  start_qemu ${devices-}
  : >"$complaints"
  if [ ! -s "$out/tainted" ]; then
    cat "$out/qemu.log" "$out/insmod.err" "$out/console" 2>/dev/null | tail -n 25 >"$complaints"
    echo "the guest did not finish" >>"$complaints"
  fi
  ok "the virtual machine runs all tests and powers off" "$complaints"
}

# --- results ---

report() {
  for tap in "$out"/*.tap; do
    [ -f "$tap" ] || continue
    name=$(basename "$tap" .tap)
    rc=$(cat "$out/$name.rc" 2>/dev/null || echo none)
    planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$tap")
    ran=$(grep -cE '^(not )?ok ' "$tap")
    echo "# $name"
    sed -E "s/^((not )?ok )[0-9]+ /\1 /" "$tap" | awk -v n="$n" '
      /^(not )?ok / { sub(/ok  /, "ok " ++n " "); print; next }
      /^#/ { print }'
    s=$(grep -cE '^ok .*# *SKIP' "$tap") f=$(grep -c '^not ok ' "$tap")
    n=$((n + ran)) skipped=$((skipped + s)) failed=$((failed + f)) passed=$((passed + ran - s - f))
    : >"$complaints"
    if [ "$ran" -ne "${planned:-0}" ] || { [ "$rc" != 0 ] && [ "$f" -eq 0 ]; }; then
      { echo "$name ran $ran of ${planned:-0} planned tests (exit $rc)"; tail -n 20 "$out/$name.err"; } >"$complaints"
      ok "$name finished" "$complaints"
    fi
  done
  kernel_has_no_complaint
}

# The taint bits 4096 and 8192 mean an out-of-tree and an unsigned module. Any other taint bit means that the kernel
# reported a problem.
kernel_has_no_complaint() {
  [ -s "$out/tainted" ] || return 0
  grep -nE 'WARNING|BUG|Oops|UBSAN|INFO:|rcu.*stall|Call Trace|corruption|refcount_t|sysfs: cannot|kobject.*tried' \
    "$out/dmesg" "$out/console" >"$complaints"
  [ $(($(cat "$out/tainted") & ~12288)) -eq 0 ] || echo "tainted: $(cat "$out/tainted")" >>"$complaints"
  ok "the kernel has no complaint" "$complaints"
}
