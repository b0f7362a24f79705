#!/bin/sh
# Queries of the history never delay a change, leave room for other callers, end at their time limit, and are interrupted
# when the daemon stops. The database is prepared so that a query of the audit records never ends by itself.
. "$(dirname "$0")/../lib.sh"

limit() { # limit SECONDS: sets the time limit of queries
  tcp
  conf_extra="[history]
raw_hours = 0
minute_days = 0
hour_days = 0
query_limit_s = $1"
  sim_conf
}

endless() { # endless FILE: requests the audit records; writes the status to FILE when the answer is complete
  curl -s --unix-socket "$sock" -o "$1.body" -w '%{http_code}' http://gover/v1/audit >"$1.status"
  mv "$1.status" "$1"
}

count() { # count STATUS: prints the number of answers with this status
  find "$dir" -name 'answer*' ! -name '*.*' -exec cat {} + | grep -o "$1" | wc -l
}

limit 3600
start || exit 1
sell a 50
token reader read
periods 5
stop
sqlite3 "$dir/state/history.db" "DROP TABLE audit;
  CREATE VIEW audit AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)
  SELECT n AS id, n AS ts_ms, n AS who, n AS origin, n AS method, n AS path, n AS status, n AS before_json, n AS after_json
  FROM r WHERE n < 0;
  CREATE TRIGGER added INSTEAD OF INSERT ON audit BEGIN SELECT 1; END;
  CREATE TRIGGER deleted INSTEAD OF DELETE ON audit BEGIN SELECT 1; END;"
start || exit 1
# Two queries run and sixteen wait, so the nineteenth is rejected.
for i in $(seq 19); do endless "$dir/answer$i" & done
ok "a caller may have a limited number of waiting queries" until_ok 60 sh -c "find '$dir' -name 'answer*' ! -name '*.*' | grep -q ."
is "the next query is rejected" "$(count 429)" 1
ok "the detail names the reason" grep -q 'too many queries of this caller' "$dir"/answer*.body
ask reader GET /v1/vgpus/a/history >"$dir/other" &
api PATCH /v1/vgpus/a '{"target_fps": 30}' >/dev/null
is "a change is answered while all threads run endless queries" "$(status)" 200
ok "the change is on disk" gojq -e '.vgpus[0].target_fps == 30' "$dir/state/contracts.json"
is "no query has ended" "$(count 200) $(count 503) $(cat "$dir/other")" "0 0 "
stop
is "a stop interrupts the queries" "$stopped" 0
wait
rm -f "$dir"/answer*
limit 1
start || exit 1
for i in $(seq 10); do endless "$dir/answer$i" & done
wait_for_answers() { test "$(find "$dir" -name 'answer*' ! -name '*.*' | wc -l)" -eq 10; }
ok "every query is answered" until_ok 60 wait_for_answers
is "queries end at their time limit" "$(find "$dir" -name 'answer*' ! -name '*.*' -exec cat {} +)" "$(printf '503%.0s' $(seq 10))"
ok "the detail names the limit and the remedy" grep -q 'within 1 s (query_limit_s of \[history\]); ask for a shorter range' "$dir/answer1.body"
finish
