# Functions of check-web and check-lighthouse: the browser, and packages of npm below the build folder.
# shellcheck shell=sh disable=SC2154 # top and dir are set by tests/scenario/lib.sh
npm_dir=$B/web/npm

skip() { # skip REASON: reports the whole suite as skipped
  echo "ok 1 - $(basename "$0") # SKIP $1"
  echo "1..1"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
}

browser() { # prints the first installed browser
  for b in ${CHROMIUM-} chromium chromium-browser google-chrome; do
    command -v "$b" && return
  done
  return 1
}

install_npm() { # install_npm PACKAGE@VERSION...: installs packages without running their scripts
  grep -qxF "$*" "$npm_dir/have" 2>/dev/null && return
  mkdir -p "$npm_dir"
  # npm removes packages that are not in its arguments
  rm -f "$npm_dir/have"
  npm install --prefix "$npm_dir" --no-save --no-audit --no-fund --ignore-scripts "$@" >"$npm_dir/log" 2>&1 &&
    echo "$*" >"$npm_dir/have"
}

require_browser() { # sets $chromium, and installs packages of npm; without them, skips the suite
  "$top/dist/install-deps" web >"$dir/deps" 2>&1 || skip "chromium cannot be installed: $(tail -n 1 "$dir/deps")"
  # shellcheck disable=SC2034 # for the script that includes this file
  chromium=$(browser) || skip "chromium not found"
  for tool in node npm; do
    command -v "$tool" >/dev/null || skip "$tool not found"
  done
  install_npm "$@" || skip "npm cannot install $*: $(grep -m 1 . "$npm_dir/log")"
  [ -s "$B/web/dygraph.min.js" ] || skip "gover-d was built without dygraphs (libjs-dygraphs)"
}
