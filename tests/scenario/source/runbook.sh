#!/bin/sh
# The runbook: each alert has a page with the same headings, and severity, delays, commands, configuration keys, metrics,
# rules and links in the pages exist.
# shellcheck disable=SC2016,SC2086 # lists of files; back quotes in single quotes are those of the pages
. "$(dirname "$0")/../lib.sh"
cd "$top" || exit 1
pages=docs/runbook
rules="dist/prometheus/gover.rules.yml dist/prometheus/gover-fleet.rules.yml"

none() { # none "text": passes if $dir/complaints is empty
  ok "$1" test ! -s "$dir/complaints"
  sed 's/^/# /' "$dir/complaints"
}

# Prints name, severity, periods until an alert is raised and until it is cleared, from the table of alerts.
kinds() {
  sed -n 's/^#define \(ALERT_CLEAR_[A-Z]*\)[ \t]*\([0-9]*\).*/s|\\b\1\\b|\2|/p' gover-d/alert/kinds.h >"$dir/numbers"
  sed -n 's/.*ALERT([A-Z_0-9]*, "\([a-z_0-9]*\)", \([A-Z]*\), \([0-9]*\), \([A-Z_]*\),.*/\1 \L\2\E \3 \4/p' gover-d/alert/kinds.h |
    sed -f "$dir/numbers"
}
kinds | sort >"$dir/kinds"
ok "the table of alerts is read" grep -q '^severe_overload critical [0-9]* [0-9]*$' "$dir/kinds"
is "each line of the table is read" "$(wc -l <"$dir/kinds")" "$(grep -c '^	ALERT(' gover-d/alert/kinds.h)"

cut -d ' ' -f 1 "$dir/kinds" >"$dir/names"
find "$pages" -name '*.md' ! -name README.md ! -name prometheus.md | sed 's|.*/||; s|\.md$||' | sort >"$dir/pages"
{
  comm -23 "$dir/names" "$dir/pages" | sed 's/$/: no page/'
  comm -13 "$dir/names" "$dir/pages" | sed 's/$/: a page without an alert/'
  while read -r name; do
    grep -q "^| \[$name\]($name\.md) |" "$pages/README.md" || echo "$name: not in README.md"
  done <"$dir/names"
} >"$dir/complaints"
none "each alert has a page, and README.md lists it"

printf '## %s\n' Meaning 'Effect for the customer' Urgency Evidence 'Causes and fixes' Verification 'Mute or acknowledge' Related >"$dir/headings"
while read -r name; do
  [ "$(head -n 1 "$pages/$name.md")" = "# $name" ] || echo "$name: the title is not its name"
  grep '^## ' "$pages/$name.md" | cmp -s - "$dir/headings" || echo "$name: other headings than $(paste -sd ' ' "$dir/headings")"
  grep -qF "gover-ctl silence add --alert $name " "$pages/$name.md" || echo "$name: no command that mutes it"
done <"$dir/pages" >"$dir/complaints"
none "each page has the same headings and a command that mutes its alert"

grep -nE '@OUTPUT|^    @$' "$pages"/*.md >"$dir/complaints"
none "no output is missing in the pages"

# An alert whose severity depends on its cause has a table of causes in its page instead of one severity.
while read -r name severity raise clear; do
  [ -f "$pages/$name.md" ] || continue
  grep -q '^| by cause |' "$pages/$name.md" && severity='by cause'
  grep -qE "^\| $severity \| $raise periods? \| $clear periods? \|$" "$pages/$name.md" ||
    echo "$name: the table of the program says $severity, $raise, $clear"
done <"$dir/kinds" >"$dir/complaints"
none "severity and delays in the pages are those of the program"

# --- commands ---

awk -F '`' '!/^    / && NF && NF % 2 == 0 { print FILENAME ":" FNR ": a code span continues on the next line" }' "$pages"/*.md >"$dir/complaints"
none "each code span is on one line, so that it is checked"

# A complete command either begins a code line, with or without "$ ", or is in back quotes.
{
  sed -n 's/^    \(\$ \)\{0,1\}\(gover-ctl .*\)/\2/p' "$pages"/*.md
  grep -ohE '`gover-ctl [^`]*`' "$pages"/*.md | tr -d '`'
} | sort -u >"$dir/commands"
ok "commands are found" test "$(wc -l <"$dir/commands")" -gt 60

# Exit status 2 is wrong usage. Without a daemon, a correct command ends with another status.
parses() { # parses COMMAND
  (cd "$dir" && GOVER_SOCKET=$dir/no.sock PATH=$B:$PATH timeout 20 sh -c "$1" >"$dir/said" 2>&1 </dev/null)
  [ $? -ne 2 ]
}
ok "a correct command is accepted" parses 'gover-ctl vgpu list --gpu gpu0'
refuses() { ! parses "$1"; }
ok "an unknown option is noticed" refuses 'gover-ctl vgpu list --no-such-option'
ok "an unknown verb is noticed" refuses 'gover-ctl vgpu lists'
while read -r command; do
  parses "$command" || echo "$command: $(head -n 1 "$dir/said")"
done <"$dir/commands" >"$dir/complaints"
none "gover-ctl accepts each command"

"$B/gover-d" --help >"$dir/options"
grep -ohE '`gover-d [^`]*`' "$pages"/*.md | grep -oE -- '--[a-z-]+' | sort -u | while read -r option; do
  grep -qw -- "$option" "$dir/options" || echo "gover-d $option: no such option"
done >"$dir/complaints"
none "gover-d has each option"

# --- names ---

{ echo '[flavor NAME]' >"$dir/conf" && "$B/gover-d" --config "$dir/conf" --print-config; } |
  awk '/^\[/ { section = $0; next } NF { print section " " $1 }' >"$dir/keys"
grep -oE '`\[[a-z]+( [a-zA-Z0-9]+)?\] [a-z_]+' "$pages"/*.md | sed 's/`//' | sort -u >"$dir/named"
ok "configuration keys are found" test "$(wc -l <"$dir/named")" -gt 20
while IFS=: read -r page key; do
  grep -qxF "$key" "$dir/keys" || echo "$page: $key: no such key"
done <"$dir/named" >"$dir/complaints"
none "each configuration key exists"

grep -ohwE 'gover_[a-z_0-9]+' gover-d/api/metrics*.c | sort -u >"$dir/metrics"
grep -oE '`gover_[a-z_0-9]+' "$pages"/*.md | sed 's/`//' | while IFS=: read -r page metric; do
  grep -qx "$metric" "$dir/metrics" || [ "$metric" = gover_gvt ] || echo "$page: $metric: no such metric"
done >"$dir/complaints"
none "each metric exists"

grep -oE '`Gover[A-Za-z]+`' "$pages"/*.md | tr -d '`' | while IFS=: read -r page rule; do
  grep -q "alert: $rule$" $rules || echo "$page: $rule: no such rule"
done >"$dir/complaints"
none "each Prometheus rule exists"

# The anchor of a heading is the heading in lower case with hyphens.
anchors() { sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-'; }
{
  grep -oE '\]\([^)]*\)' "$pages"/*.md README.md | sed 's/](//; s/)$//'
  sed -n "s|.*runbook_url: 'file:///usr/share/doc/gover/runbook/\(.*\)'$|$pages/rules:\1|p" $rules | grep -v 'labels.name'
} >"$dir/links"
is "each Prometheus rule has a link" "$(cat $rules | grep -c "  runbook_url: 'file:///usr/share/doc/gover/runbook/")" "$(cat $rules | grep -c '  - alert: ')"
while IFS=: read -r page link; do
  file=${link%%#*}
  case $link in
  *.md | *.md#*)
    target=$(dirname "$page")/$file
    [ -f "$target" ] || echo "$page: $link: no such file"
    [ "$link" = "$file" ] || anchors "$target" | grep -qx "${link#*#}" || echo "$page: $link: no such heading"
    ;;
  esac
done <"$dir/links" >"$dir/complaints"
none "each link leads to a page and a heading"
finish
