#!/bin/sh
# equal.sh OLD NEW LIST [FOLDER]: two builds give the same verdicts and evidence, byte for byte.
#
# OLD and NEW are hpccoder programs. LIST names one source file a line; the files of
# tests/pragma/loops are added. Each build judges all files once per set of options below. FOLDER
# keeps the results of OLD for later runs of this script; without it they are deleted. The exit
# status is 1 if a result differs; the first difference is printed.
set -u
[ $# -ge 3 ] || { echo "usage: $0 OLD NEW LIST [FOLDER]" >&2; exit 2; }
old=$1 new=$2 list=$3
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
kept=${4:-$work}
mkdir -p "$kept"
{ ls tests/pragma/loops/*.c tests/pragma/loops/*.cpp; cat "$list"; } >"$work/files"

judge() { # program result options...
    program=$1 result=$2
    shift 2
    xargs -d '\n' "$program" pragma -q -j 2 --format json "$@" <"$work/files" \
        >"$result" 2>"$result.messages"
}
status=0
for options in '' '--simd --guard --default-none' '--target --conditional'; do
    name=$(echo "judged$options" | tr -d ' ')
    [ -s "$kept/$name" ] || judge "$old" "$kept/$name" $options
    judge "$new" "$work/new" $options
    for part in '' .messages; do
        cmp "$kept/$name$part" "$work/new$part" && continue
        diff "$kept/$name$part" "$work/new$part" | head -n 20
        status=1
    done
    printf '%d files, %d loops: options "%s"\n' "$(wc -l <"$work/files")" \
        "$(grep -o '"verdict"' "$kept/$name" | wc -l)" "$options"
done
exit $status
