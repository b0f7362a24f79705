#!/bin/sh
# The policy is unloaded while workloads run: all vGPUs are removed at once while their files are read.
. "$(dirname "$0")/lib.sh"
module=$OUT/modules/gover_gvt.ko

fill() { # three busy vGPUs on each of the first GPUs
  for i in 0 1 2 3; do
    gpu $i
    for cap in 30 60 90; do
      create 8
      echo "$cap" >"$q/cap"
      echo 100 >"$v/load"
    done
  done
}

disciplines='cap weight guarantee cap guarantee'
times=0
while [ "$times" -lt 5 ]; do
  fill
  sleep 0.5
  while cat /sys/bus/mdev/devices/*/intel_vgpu/*; do
    for i in 0 1 2 3; do
      echo guarantee >"/sys/class/mdev_bus/gover_gvt.$i/gover_sharing"
      echo hard >"/sys/class/mdev_bus/gover_gvt.$i/gover_sharing"
    done
  done >/dev/null 2>&1 &
  ok "it can be unloaded under load" rmmod gover_gvt
  wait
  ok "no GPU remains" test ! -e /sys/class/mdev_bus/gover_gvt.0
  times=$((times + 1))
  disciplines=${disciplines#* }
  [ "$times" -eq 5 ] || ok "it can be loaded" insmod "$module" gpus=4 discipline="${disciplines%% *}"
done
cleanup=''
finish
