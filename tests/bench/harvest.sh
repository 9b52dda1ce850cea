#!/bin/sh
# harvest.sh [NAME=]REPOSITORY...: `hpccoder corpus harvest` of HEAD beside `git cat-file --batch` of
# the same blobs piped to sha256sum, alternating, medians of RUNS (5). Both may use two cores: ours
# has two threads, theirs two processes. OPTIONS go to the harvest. Needs git, sqlite3 and a build.
#
# The same blobs: those that the harvest read, asked from its own database. They are read once
# before, so that both find them in the page cache. Beside the rates, user and system time of both,
# which other work on the machine disturbs less.
set -eu
program=${HPCCODER:-build/release/hpccoder}
runs=${RUNS:-5}
folder=$(mktemp -d "${TMPDIR:-/tmp}/hpc-bench-XXXXXX")
trap 'rm -rf "$folder"' EXIT

harvest() {
    # shellcheck disable=SC2086 # OPTIONS are several words
    "$program" corpus harvest "$@" --out "$folder/corpus" --threads 2 -q ${OPTIONS-} >/dev/null 2>&1
}
names() { sqlite3 "$folder/corpus/corpus.db" 'SELECT name FROM repository ORDER BY name'; }
path() { # of [NAME=]REPOSITORY
    if [ -e "$1" ]; then echo "$1"; else echo "${1#*=}"; fi
}

harvest "$@" || { echo "harvest.sh: the harvest failed" >&2; exit 1; }
k=0
for repository in "$@"; do # one list of ids for each repository, found by trying the names
    k=$((k + 1))
    : >"$folder/$k.ids" # nothing is read of one that is held out
    names | while read -r name; do
        sqlite3 "$folder/corpus/corpus.db" "SELECT git_id FROM files WHERE repository = '$name'
            AND reason NOT IN ('held-out-repository', 'held-out-path', 'vendored', 'too-large',
            'absent', 'corrupt')" >"$folder/try"
        first=$(head -n 1 "$folder/try")
        [ -n "$first" ] || continue
        git --git-dir="$(path "$repository")" cat-file -e "$first" 2>/dev/null || continue
        mv "$folder/try" "$folder/$k.ids"
        break
    done
done
peer() {
    k=0
    for repository in "$@"; do
        k=$((k + 1))
        git --git-dir="$(path "$repository")" cat-file --batch <"$folder/$k.ids" | sha256sum
    done >/dev/null
}
bytes=$(k=0; for repository in "$@"; do
    k=$((k + 1))
    git --git-dir="$(path "$repository")" cat-file --batch-check='%(objectsize)' <"$folder/$k.ids"
done | awk '{ n += $1 } END { print n }')

now() { date +%s.%N; }
spent() { # user and system seconds of all children, as `times` told in the shell itself
    awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, "[ms]"); n += 60 * t[1] + t[2] }
        print n }' "$folder/times"
}
run=0
while [ "$run" -lt "$runs" ]; do
    run=$((run + 1))
    rm -rf "$folder/corpus"
    times >"$folder/times"; c0=$(spent)
    a=$(now); harvest "$@"; b=$(now); times >"$folder/times"; c1=$(spent)
    c=$(now); peer "$@"; d=$(now); times >"$folder/times"; c2=$(spent)
    echo "$a $b $c $d $c0 $c1 $c2"
done >"$folder/runs"
awk -v bytes="$bytes" '
    {
        ours[NR] = $2 - $1; theirs[NR] = $4 - $3
        ours_cpu[NR] = $6 - $5; theirs_cpu[NR] = $7 - $6
    }
    function median(x, n,    i, j, t) {
        for (i = 2; i <= n; i++) for (j = i; j > 1 && x[j - 1] > x[j]; j--) {
            t = x[j]; x[j] = x[j - 1]; x[j - 1] = t
        }
        return n % 2 ? x[(n + 1) / 2] : (x[n / 2] + x[n / 2 + 1]) / 2
    }
    function line(what, seconds, cpu) {
        printf "%-28s  %7.3f s  %6.1f MB/s  %7.3f s of CPU\n", what, seconds,
            bytes / seconds / 1e6, cpu
    }
    END {
        a = median(ours, NR); b = median(theirs, NR)
        printf "%.1f MB in both, medians of %d runs\n", bytes / 1e6, NR
        line("harvest", a, median(ours_cpu, NR))
        line("git cat-file | sha256sum", b, median(theirs_cpu, NR))
        printf "ratio of rates                %7.2f\n", b / a
    }' "$folder/runs"
