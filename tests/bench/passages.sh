#!/bin/sh
# passages.sh PASSAGES CORPUS OTHER: what `hpccoder complete` would say of code of CORPUS, of which
# `hpccoder corpus passages` made PASSAGES, and of code of OTHER, a corpus of files that are not to be
# named. CC and BUILD (build/release) are as for make; a corpus of 23 M tokens takes 1 GB of memory.
set -eu
build=${BUILD:-build/release}
folder=$(mktemp -d "${TMPDIR:-/tmp}/hpc-bench-XXXXXX")
trap 'rm -rf "$folder"' EXIT
rooms=
for room in corpus tokenizer plot shard proc git source base; do
    rooms="$rooms $build/libhpc-$room.a"
done
# shellcheck disable=SC2086 # several archives
${CC:-gcc} -std=c11 -O2 -D_GNU_SOURCE -I. -I"$build" -pthread tests/bench/passages/measure.c \
    -Wl,--start-group $rooms -Wl,--end-group -ljansson -lgit2 -lsqlite3 -lzstd -lpcre2-8 -lm -ldl \
    -o "$folder/measure"
"$folder/measure" "$@"
