#!/bin/sh
# run.sh BUILD: every lint, each with its duration; fails if one of them does.
. tests/lint/lib.sh
build=$1
failed=
for step in format layers circles link symbols globals ptxas sizes tree headers words tidy arm selftest; do
    start=$(date +%s)
    verdict=ok
    sh tests/lint/$step.sh "$build" || verdict=FAIL failed="$failed $step"
    printf 'lint: %-4s %-9s %3d s\n' $verdict $step $(($(date +%s) - start))
done
[ -z "$failed" ] || { echo "lint: failed:$failed" >&2; exit 1; }
