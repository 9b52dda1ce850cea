#!/bin/sh
# demo.sh HPCCODER: completes a function and compiles it, shows directives with evidence, and predicts the effect of
# commits on performance. It uses the default model where `make model` can install it, otherwise the pilot.
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

examples=$here/../examples
hpccoder=$(realpath "$1")
cp "$examples/heat.c" "$work/heat.c"
echo "\$ hpccoder pragma heat.c | head -n 5"
(cd "$work" && "$hpccoder" pragma heat.c | head -n 5)
if command -v git >/dev/null; then
    echo "\$ hpccoder perf predict --repo history HEAD~6..HEAD"
    sh "$examples/history.sh" "$work/history"
    "$1" perf predict --repo "$work/history" HEAD~6..HEAD
fi
