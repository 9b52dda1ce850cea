#!/bin/sh
# pragma_again.sh [FILE]: how long it takes to judge the loops of a file once more after an edit of
# one line, with the file kept open as an editor would. Without FILE: 10,000 lines with 300 loops, in
# functions and in one function. CC and BUILD (build/release) are as for make; BENCH_REPEAT (41).
set -eu
build=${BUILD:-build/release}
folder=$(mktemp -d "${TMPDIR:-/tmp}/hpc-bench-XXXXXX")
trap 'rm -rf "$folder"' EXIT
rooms=
for room in infer source base; do
    rooms="$rooms $build/libhpc-$room.a"
done
# shellcheck disable=SC2086 # several archives
${CC:-gcc} -std=c11 -O2 -D_GNU_SOURCE -I. -I"$build" -pthread tests/bench/pragma_again/measure.c \
    -Wl,--start-group $rooms -Wl,--end-group -ljansson -lm -ldl -o "$folder/measure"
if [ $# -eq 0 ]; then
    for functions in 0 1; do
        PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/bench python3 -c "
import pragma_time
print(pragma_time.text(10000, 300, $functions), end='')" >"$folder/$functions.c"
    done
    set -- "$folder/0.c" "$folder/1.c"
fi
for file; do
    "$folder/measure" "$build" "$file" "${BENCH_REPEAT:-41}"
done
