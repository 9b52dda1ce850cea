#!/bin/sh
# kernels.sh FOLDER [OPTION of `hpccoder perf collect`]...: measures the histories in kernels/.
#
# Real repositories rarely hold the plain mistakes: a lost -O2, a strlen in a loop's bound, a copy
# for each call. kernels/NAME.patch is a small program of ours with the changes that it went
# through, as `git format-patch` writes them: harmful, helpful, and many that cost nothing. They say
# nowhere which is which: that is measured. More of them are in kernels/more.tar.gz.
#
# Makes FOLDER/kernels, a git repository with a branch for each program (the same ids everywhere),
# and FOLDER/kernels.db, the performance history. What is there already is not measured again.
# Without options the metric is cost. HPCCODER: the program, if it is not in PATH. KERNELS: names
# of those to take, if not all.
set -eu
folder=${1:?usage: kernels.sh FOLDER [OPTION of hpccoder perf collect]...}
shift
[ $# -gt 0 ] || set -- --metric cost --interleave 16
kernels=$(cd "$(dirname "$0")/kernels" && pwd)
program=${HPCCODER:-hpccoder}
mkdir -p "$folder/patches"
folder=$(cd "$folder" && pwd)
patches=$folder/patches
cp "$kernels"/*.patch "$patches"
tar -xzf "$kernels/more.tar.gz" -C "$patches"

# Nothing of the user's own settings gets into the commits.
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
export GIT_COMMITTER_NAME=kernels GIT_COMMITTER_EMAIL=kernels@example.org
repo=$folder/kernels
[ -d "$repo" ] || git init -q -b none "$repo"
names=${KERNELS:-$(cd "$patches" && ls | sed -n 's/\.patch$//p')}
for name in $names; do
    git -C "$repo" checkout -q --orphan making
    git -C "$repo" rm -rfq --ignore-unmatch .
    git -C "$repo" am -q --keep --committer-date-is-author-date "$patches/$name.patch"
    git -C "$repo" branch -M making "$name"
done

for name in $names; do
    echo "$name"
    "$program" perf collect --quiet --repo "$repo" --range "$name" --build make --run ./bench \
        --db "$folder/kernels.db" "$@"
done
