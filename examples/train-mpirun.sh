#!/bin/sh
# train-mpirun.sh HOSTS DATA RUN [OPTIONS OF hpccoder train]: a run on the machines that the file
# HOSTS lists ("NAME slots=N" a line, N ranks each), without a scheduler. When a rank or a machine
# dies, the job ends, and is started again on the machines that still answer, from the newest
# checkpoint.
#
#   ROWS=32 sh examples/train-mpirun.sh hosts shards run --hidden 512 --layers 8 --steps 20000
#
# RUN must lie where all of them see it. HPCCODER names the program if it is not on the PATH.
set -u
hosts=$1 data=$2 run=$3
shift 3
rows=${ROWS:-8}

for try in 1 2 3 4 5 6 7 8 9 10; do
    # Those that answer, and how many ranks they take together.
    while read -r name slots; do
        case $name in '' | '#'*) continue ;; esac
        if [ "$name" != localhost ]; then
            ssh -o BatchMode=yes -o ConnectTimeout=5 "$name" true </dev/null || continue
        fi
        echo "$name ${slots:-slots=1}"
    done <"$hosts" >"$run.hosts"
    ranks=$(sed 's/.*slots=//' "$run.hosts" | awk '{ n += $1 } END { print n + 0 }')
    if [ "$ranks" -eq 0 ]; then
        echo "none of the machines in $hosts answers" >&2
        exit 3
    fi
    # They must divide the rows of a step: as many as do.
    while [ $((rows % ranks)) -ne 0 ]; do ranks=$((ranks - 1)); done
    echo "start $try: $ranks ranks" >&2
    mpirun --hostfile "$run.hosts" -n "$ranks" \
        "${HPCCODER:-hpccoder}" train --data "$data" --out "$run" --rows "$rows" --zero 1 --resume "$@"
    code=$?
    # Done, or stopped by somebody; 2 is a mistake in what was asked for, and would be so again.
    if [ $code -eq 0 ] || [ $code -eq 2 ]; then exit $code; fi
    echo "ended with $code: once more" >&2
done
exit 3
