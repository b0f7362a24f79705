#!/bin/sh
# An OpenCL layer changes nothing that a program observes: the transcript of cl-conformance is the same without and with a layer.
# The conformance test notices each mistake that tests/helper/cl-layer.c can make. CL_LAYER=/path/lib.so tests another layer.
. "$(dirname "$0")/../compute/cl-lib.sh"
need_device
cd "$top" || exit 1
conformance=$B/tests/cl-conformance
bad_layer=$B/tests/cl-layer
layer=${CL_LAYER:-$bad_layer}

section() { # section NAME FILE: prints the part of a transcript
  sed -n "/^== $1\$/,/^== /p" "$2" | sed '$ { /^== /d }'
}

same() { # same WHAT FILE: the transcript is complete and equal to that without a layer
  ok "$1: the same transcript" cmp "$dir/plain" "$2"
  diff "$dir/plain" "$2" | head -n 20 | sed 's/^/# /'
}

"$conformance" >"$dir/plain" 2>"$dir/plain.err"
is "without a layer: the test ends" "$? $(tail -n 1 "$dir/plain")" "0 == end"
sed 's/^/# /' "$dir/plain.err"
"$conformance" >"$dir/again"
same "without a layer, again" "$dir/again"
OPENCL_LAYERS=$layer "$conformance" >"$dir/layer"
same "with the layer $(basename "$layer")" "$dir/layer"

# The comparisons below run one section at a time. Without a mistake, each section prints its part of the whole transcript.
"$conformance" --list >"$dir/sections"
while read -r name; do
  section "$name" "$dir/plain" >"$dir/wanted"
  OPENCL_LAYERS=$bad_layer "$conformance" "$name" >"$dir/got"
  ok "section $name alone: the same transcript" cmp "$dir/wanted" "$dir/got"
done <"$dir/sections"

# Each row: a mistake, and the section whose transcript must change. A crash alone is reported and does not count.
cat >"$dir/mistakes" <<'EOF'
map-early map
map-blocks map
read-early map
read-blocks map
read-rect-early map
launches-lost map
error-dropped errors
error-changed errors
argument-error-dropped errors
argument-error-ends errors
event-swapped events
event-leaked events
wait-list-ignored events
copy-list-ignored events
profiling-lost events
callback-lost callbacks
callback-early callbacks
callback-twice callbacks
user-error-hidden callbacks
out-of-order-lost order
barrier-lost order
finish-early order
wait-early order
flush-blocks order
release-drops-work order
sub-buffer-moved buffers
fill-of-bytes buffers
copy-moved buffers
rows-lost buffers
destructor-lost buffers
arguments-late kernels
offset-lost kernels
local-size-lost kernels
sliced-plainly kernels
clone-shared kernels
arguments-shared threads
one-queue threads
source-changed programs
log-lost programs
options-changed programs
build-callback-lost programs
kernel-leaked objects
memory-hidden objects
svm-map-early memory
svm-copy-early memory
image-read-early memory
EOF
sed -n 's/^\tMISTAKE("\([^"]*\)".*/\1/p' tests/helper/cl-layer.c | sort -u >"$dir/known"
ok "each mistake of the test layer has a row" sh -c "cut -d ' ' -f 1 '$dir/mistakes' | sort | cmp - '$dir/known'"

notices() { # notices MISTAKE SECTION: the transcript of the section changes, and the mistake exists
  section "$2" "$dir/plain" >"$dir/wanted"
  CL_PATIENCE_MS=400 CL_LAYER_MISTAKE=$1 OPENCL_LAYERS=$bad_layer "$conformance" "$2" >"$dir/got" 2>/dev/null
  rc=$?
  if [ "$rc" -gt 128 ]; then
    # Lines that are missing after a crash are no difference that the test has found, and the last line may be incomplete.
    echo "the program ended by SIG$(kill -l "$rc")"
    sed -i '$d' "$dir/got"
    head -n "$(wc -l <"$dir/got")" "$dir/wanted" >"$dir/begun" && mv "$dir/begun" "$dir/wanted"
  fi
  [ "$rc" -ne 9 ] && [ -s "$dir/wanted" ] && ! cmp -s "$dir/wanted" "$dir/got"
}

# Half of the mistakes return wrong data. A device that computes nothing cannot show them.
if ! grep -q '^blocking map after a kernel: 200 of 200 ' "$dir/plain"; then
  ok "mistakes # SKIP the device $CL_DEVICE computes nothing" true
  : >"$dir/mistakes"
fi
while read -r mistake name; do
  ok "mistake $mistake: section $name notices it" notices "$mistake" "$name"
  [ "$rc" -le 128 ] || echo "# mistake $mistake: section $name ended by SIG$(kill -l "$rc")"
done <"$dir/mistakes"
finish
