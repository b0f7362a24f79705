#!/bin/sh
# A client generated from the REST description compiles in strict mode and lists, sells, holds, changes, claims and
# removes. The generator
# comes from npm, into $B/openapi-client; without it the scenario is skipped.
. "$(dirname "$0")/../lib.sh"

for program in node npm; do
  command -v $program >/dev/null || skip_all "no $program here, which generates the client"
done
source=$top/tests/openapi/client
tools=$B/openapi-client
mkdir -p "$tools" "$dir/client"
if ! cmp -s "$source/package.json" "$tools/installed.json"; then
  cp "$source/package.json" "$tools/"
  (cd "$tools" && timeout 120 npm install --no-audit --no-fund --no-package-lock --ignore-scripts --fetch-retries 0) \
    >"$tools/npm.log" 2>&1 || skip_all "npm cannot fetch the generator: $(grep -m 1 'code\|error' "$tools/npm.log")"
  cp "$source/package.json" "$tools/installed.json"
fi
ln -s "$tools/node_modules" "$dir/client/node_modules"
cp "$source/use.ts" "$source/tsconfig.json" "$source/package.json" "$dir/client/"
tool() { # tool NAME ARGUMENT...: runs a program from npm
  name=$1
  shift
  (cd "$dir/client" && CI=1 NO_COLOR=1 "./node_modules/.bin/$name" "$@")
}

conf_extra='[offer]
flavor_cap_pct = 30
ttl_s = 86400
[policy]
fund_window_s = 2'
start_sim
api GET /openapi.json >"$dir/client/openapi.json"
ok "the description is valid OpenAPI 3.1" tool validate-api openapi.json
ok "a client is generated" tool openapi-ts -i openapi.json -o gen -c @hey-api/client-fetch
ok "a program compiles with the client in strict mode" tool tsc
ok "the program lists, sells, holds, changes, claims and removes" node "$dir/client/out/use.js" "$sock"
node_said=$(cat "$dir/ok.out")
says() { echo "$node_said" | grep -q "$1"; }
ok "the claim returns the vGPU" says "is claimed for c, probation"
ok "a cap is held" says "^a: held is true at 25 %"
ok "lists are read page by page" says "vGPUs: a, b, c"
ok "the change of the vGPU is in force" that /v1/vgpus/a '.target_fps == 30'
ok "the change of the policy is in force" that /v1/policy '.name == "qos" and .params.overload_pct == 90 and .params.name == "qos"'
is "the removed vGPU is gone" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" "a b"
finish
