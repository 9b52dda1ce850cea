#!/bin/sh
# demo.sh HPCCODER: the pilot model writes the function that demo.c begins, and the compiler looks at it.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/demo.c" "$work/demo.c"
echo "\$ hpccoder complete demo.c --stop function --verbose"
tail -n 3 "$here/demo.c"
"$1" complete "$work/demo.c" --model "$here/../share/pilot.gguf" --stop function --verbose
"$1" complete "$work/demo.c" --model "$here/../share/pilot.gguf" --stop function --write
echo "\$ hpccoder complete demo.c --stop function --write && ${CC:-gcc} -fopenmp -Wall -c demo.c"
${CC:-gcc} -fopenmp -Wall -c "$work/demo.c" -o "$work/demo.o"
echo "it compiles"
