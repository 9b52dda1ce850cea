#!/bin/sh
# kernels.sh FOLDER [OPTION of `hpccoder perf collect`]...: measures the histories in kernels/.
#
# Real repositories rarely hold the plain mistakes: a lost -O2, a strlen in a loop's bound, a copy
# for each call. kernels/NAME.patch is a small program of ours with the changes that it went
# through, as `git format-patch` writes them: harmful, helpful, and about as many that cost nothing.
# They say nowhere which is which: that is measured.
#
# Makes FOLDER/kernels, a git repository with a branch for each program (the same ids everywhere),
# and FOLDER/kernels.db, the performance history. What is there already is not measured again.
# Without options the metric is cost. HPCCODER: the program, if it is not in PATH.
set -eu
folder=${1:?usage: kernels.sh FOLDER [OPTION of hpccoder perf collect]...}
shift
[ $# -gt 0 ] || set -- --metric cost
patches=$(cd "$(dirname "$0")/kernels" && pwd)
program=${HPCCODER:-hpccoder}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# Nothing of the user's own settings gets into the commits.
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
export GIT_COMMITTER_NAME=kernels GIT_COMMITTER_EMAIL=kernels@example.org
repo=$folder/kernels
[ -d "$repo" ] || git init -q -b none "$repo"
for patch in "$patches"/*.patch; do
    name=$(basename "$patch" .patch)
    git -C "$repo" rev-parse -q --verify "refs/heads/$name" >/dev/null && continue
    git -C "$repo" checkout -q --orphan making
    git -C "$repo" rm -rfq --ignore-unmatch .
    git -C "$repo" am -q --keep --committer-date-is-author-date "$patch"
    git -C "$repo" branch -m making "$name"
done

for patch in "$patches"/*.patch; do
    name=$(basename "$patch" .patch)
    echo "$name"
    "$program" perf collect --quiet --repo "$repo" --range "$name" --build make --run ./bench \
        --db "$folder/kernels.db" "$@"
done
