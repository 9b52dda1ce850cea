#!/bin/sh
# run.sh PROGRAM...: runs cmocka programs, one for each core at a time, and counts their tests.
#
# The last line is "N passed, N failed, N skipped"; the exit code is 0 only if something passed
# and nothing failed. A test that was announced and gave no verdict (its program crashed, left
# early or ran out of time) has failed. A test that skips says why in a line with "SKIP".
#
# It reads cmocka's standard messages: they name a test as it begins, so a crash has a name, and
# they are found in the middle of lines too, behind what a test itself prints. TAP has neither.
#
# HPC_TEST_JOBS     programs at a time (the number of cores)
# HPC_TEST_TIMEOUT  seconds that one program may take (300)
set -u

# Without a model that the user has installed.
export XDG_DATA_HOME=/nonexistent

# ---- one program: its log, and one line of counts, in folder $2 ----
run_one() { # program folder
    name=$(echo "$1" | sed 's,.*/tests/,,')
    base=$2/$(echo "$name" | tr / .)
    start=$(date +%s)
    timeout -k 10 "$HPC_TEST_TIMEOUT" "$1" >"$base.log" 2>&1 </dev/null
    rc=$?
    took=$(($(date +%s) - start))
    # The second line of `times`: user and system time of what has ended here.
    times >"$base.times" # not in a pipe, whose shell has no children
    cpu=$(awk -F '[ms ]+' 'NR == 2 { printf "%.0f", 60 * $1 + $2 + 60 * $3 + $4 }' "$base.times")
    tr -d '\000' <"$base.log" | awk -v name="$name" -v rc="$rc" -v limit="$HPC_TEST_TIMEOUT" \
        -v counts="$base.counts" -v skips="$base.skipped" -v fails="$base.failed" -v took="$took" \
        -v cpu="$cpu" "$VERDICTS"
}

# Between "Running N test(s)" and "N test(s) run" every test has one verdict; what follows repeats
# the names of those that failed, which is not counted again.
VERDICTS='
function after(mark) { return substr($0, index($0, mark) + length(mark)) }
function unfinished() {
    if (inside && planned > seen) failed += planned - seen
    inside = 0
}
match($0, /\[==========\].*Running [0-9]+ test/) {
    unfinished()
    planned = $0; sub(/.*Running /, "", planned); planned += 0
    announced += planned; seen = 0; inside = 1
}
/\[==========\].*[0-9]+ test\(s\) run/ { unfinished() }
!inside { next }
index($0, "[ RUN      ] ") { current = after("[ RUN      ] "); why = where = "" }
where == "" && index($0, "[   LINE   ] --- ") { where = ": " after("[   LINE   ] --- ") }
/SKIP/ && !index($0, "[  SKIPPED ]") && why == "" { why = $0; sub(/.*SKIP[A-Z]*[: ]*/, "", why) }
index($0, "[       OK ] ") { passed++; seen++; current = "" }
index($0, "[  FAILED  ] ") {
    failed++; seen++; current = ""
    print name ": " after("[  FAILED  ] ") where > fails
}
index($0, "[  SKIPPED ] ") {
    skipped++; seen++; current = ""
    print name ": " after("[  SKIPPED ] ") ": " (why == "" ? "no reason given" : why) > skips
}
END {
    if (inside && planned > seen && current != "") at = " in " current
    unfinished()
    if (rc == 124 || rc == 137) note = ", stopped after " limit " s" at
    else if (rc > 128) note = ", killed by signal " rc - 128 at
    else if (at != "") note = ", exit code " rc at
    else if (!announced) note = ", no test was run"
    if (rc != 0 && !failed || !announced) failed++
    if (rc != 0 && note == "" && rc != failed) note = ", exit code " rc
    printf "%d %d %d %s\n", passed, failed, skipped, name > counts
    if (note != "") print name note > fails
    printf "%s %-32s %4d passed%s%s%s, %d s, %d s of CPU\n", failed ? "FAIL" : "ok  ", name, passed, \
        failed ? ", " failed " failed" : "", skipped ? ", " skipped " skipped" : "", note, took, cpu
    fflush()
}'

if [ "${1:-}" = --one ]; then
    run_one "$3" "$2"
    exit 0
fi

# ---- all programs ----
HPC_TEST_JOBS=${HPC_TEST_JOBS:-$(nproc)}
HPC_TEST_TIMEOUT=${HPC_TEST_TIMEOUT:-300}
export HPC_TEST_TIMEOUT CMOCKA_MESSAGE_OUTPUT=STDOUT
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1 second_deadlock_stack=1}"
unset CMOCKA_XML_FILE

out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
# The commands, then from the last: the highest rooms take longest, and short ones fill up the end.
[ $# = 0 ] || printf '%s\n' "$@" | sed 's,.*/tests/cmd/,~&,' | sort -r | sed 's,^~,,' |
    xargs -P "$HPC_TEST_JOBS" -n 1 sh "$0" --one "$out"

cat "$out"/*.counts 2>/dev/null | while read -r _ failed _ name; do
    [ "$failed" = 0 ] && continue
    log=$out/$(echo "$name" | tr / .).log
    printf '\n---- output of %s\n' "$name"
    # The beginning tells what went wrong, the end what it came to.
    if [ "$(wc -l <"$log")" -le 400 ]; then cat "$log"; else
        head -n 250 "$log"
        echo "[...]"
        tail -n 150 "$log"
    fi
done
for verdict in skipped failed; do
    cat "$out"/*.$verdict >/dev/null 2>&1 || continue
    printf '\n%s:\n' $verdict
    cat "$out"/*.$verdict | sed 's/^/  /'
done
echo
cat "$out"/*.counts 2>/dev/null | awk -v programs=$# '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        failed += programs - NR # a program without counts could not be run at all
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit !(passed && !failed)
    }'
