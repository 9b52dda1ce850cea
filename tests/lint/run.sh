#!/bin/sh
# run.sh BUILD: every lint, two at a time, each with its duration; fails if one of them does.
. tests/lint/lib.sh
steps='tidy selftest headers format layers circles link symbols globals ptxas sizes tree words arm'

if [ "$1" = --one ]; then
    build=$2 logs=$3 step=$4
    start=$(date +%s)
    verdict=ok
    sh "tests/lint/$step.sh" "$build" >"$logs/$step" 2>&1 || verdict=FAIL
    [ $verdict = ok ] || touch "$logs/failed.$step"
    cat "$logs/$step"
    printf 'lint: %-4s %-9s %3d s\n' $verdict "$step" $(($(date +%s) - start))
    exit 0
fi

logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM
printf '%s\n' $steps | xargs -P 2 -n 1 sh "$0" --one "$1" "$logs"
failed=$(ls "$logs" | sed -n 's/^failed\./ /p' | tr -d '\n')
[ -z "$failed" ] || { echo "lint: failed:$failed" >&2; exit 1; }
