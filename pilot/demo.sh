#!/bin/sh
# demo.sh HPCCODER: a model writes the function that demo.c begins, and the compiler looks at it. The default
# model is used where `make model` can install it, otherwise the pilot.
set -eu
here=$(dirname "$0")
model=${XDG_DATA_HOME:-$HOME/.local/share}/hpccoder/models/hpc-135m.packed
if ! sh "$here/../recipes/install.sh" "$1"; then
    echo "the default model cannot be installed; this demo uses the pilot"
    model=$here/../share/pilot.gguf
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/demo.c" "$work/demo.c"
echo "\$ hpccoder complete demo.c --stop function --verbose"
tail -n 3 "$here/demo.c"
"$1" complete "$work/demo.c" --model "$model" --stop function --verbose
"$1" complete "$work/demo.c" --model "$model" --stop function --write
echo "\$ hpccoder complete demo.c --stop function --write && ${CC:-gcc} -fopenmp -Wall -c demo.c"
${CC:-gcc} -fopenmp -Wall -c "$work/demo.c" -o "$work/demo.o"
echo "it compiles"
