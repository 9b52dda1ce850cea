#!/bin/sh
# run.sh SECONDS PROGRAM...: runs libFuzzer programs one after the other, each for so long, and
# counts them as tests/run.sh counts tests. An input that broke one stays beside its program.
#
# Seeds are the files of tests/fuzz/seeds/NAME/, where there are any; what a run finds is kept in
# PROGRAM.corpus and used by the next.
set -u
seconds=$1
shift
passed=0 failed=0
for program in "$@"; do
    name=$(basename "$program")
    mkdir -p "$program.corpus"
    seeds=tests/fuzz/seeds/$name
    [ -d "$seeds" ] || seeds=
    if "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$program-" "$program.corpus" $seeds >"$program.log" 2>&1; then
        passed=$((passed + 1))
        echo "ok   fuzz/$name: $(awk '/number_of_executed_units/ { print $2 }' "$program.log")" \
            "inputs in $seconds s"
    else
        failed=$((failed + 1))
        echo "FAIL fuzz/$name: $(grep -m 1 -E 'ERROR|SUMMARY|Test unit' "$program.log")"
        tail -n 40 "$program.log"
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
