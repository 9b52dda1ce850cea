#!/usr/bin/env bash
# plans.sh DATA TOKENIZER OUT [STEPS]: one run, step for step the same, on every kind of plan.
#
# Trains one model on shards of one's own by one rank and by processes under mpirun on several grids, with the
# same global batches, and draws their losses over each other: OUT/loss.png. Prints, for each plan, the
# largest distance of a step's loss from one rank's, and the bytes that a rank sends in a step. What is
# finished is not run again. What we had is in plans/. SHAPE and PLANS select others; the schedules of pipelines:
# SHAPE='--hidden 32 --layers 8 --heads 4 --ffn 96 --length 32 --rows 2 --accumulate 8 --tied' PLANS=pipelines.
set -eu -o pipefail
[ $# -ge 3 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
data=$1 tokenizer=$2 out=$3 steps=${4:-300}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
hpccoder=${HPCCODER:-$here/build/release/hpccoder}
shape=${SHAPE:---hidden 256 --layers 4 --heads 4 --kv-heads 2 --ffn 672 --length 256 --rows 8 --tied}
plans=${PLANS:-data=2 data=2:--zero_1 data=2:--zero_3 depth=2 row=2 col=2 row=2:--overdecompose data=2,row=2:--zero_2
    depth=2,row=2 row=2,col=2 data=2,depth=2 data=2,row=2,col=2:--zero_1}
pipelines=
for p in 2 4; do for s in gpipe 1f1b interleaved arrival; do pipelines+=" pipe=$p:--pipe-schedule_$s"; done; done
[ "$plans" != pipelines ] || plans=$pipelines
mkdir -p "$out"

ranks_of() { # grid
    local n=1 part
    for part in ${1//,/ }; do n=$((n * ${part#*=})); done
    echo "$n"
}

run() { # name ranks options...
    local name=$1 ranks=$2
    shift 2
    [ -e "$out/$name/done" ] && return
    # Of the words, only the shape and the plan are several.
    # shellcheck disable=SC2086
    mpirun --oversubscribe --bind-to none -n "$ranks" "$hpccoder" train -q --data "$data" --tokenizer "$tokenizer" \
        --out "$out/$name" $shape --optimizer adamw --lr 0.002 --clip 1 --steps "$steps" --validate-every 0 \
        --save-every 0 -j 1 "$@" >"$out/$name.log" 2>&1 || { cat "$out/$name.log" >&2; exit 1; }
    touch "$out/$name/done"
}

names=(one)
run one 1
for plan in $plans; do
    grid=${plan%%:*} more=
    [ "$grid" = "$plan" ] || more=${plan#*:}
    name=$grid${more:+ ${more//[-_]/ }}
    name=$(echo "$name" | tr -s ' ' '-')
    # shellcheck disable=SC2086
    run "$name" "$(ranks_of "$grid")" --grid "$grid" ${more//_/ }
    names+=("$name")
done

cd "$out"
column() { head -1 one/metrics.csv | tr , '\n' | grep -nx "$1" | cut -d: -f1; }
step=$(column step) loss=$(column loss) columns=$(head -1 one/metrics.csv | tr , '\n' | wc -l) shade=0
for name in "${names[@]}"; do
    awk -F, -v name="$name" '
        FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        NR == FNR { loss[$at["step"]] = $at["loss"]; last = $at["loss"]; next }
        { d = $at["loss"] - loss[$at["step"]]; if (d < 0) d = -d; if (d > most) most = d; mine = $at["loss"]; sent = $at["comm_bytes"] }
        END { printf "%-36s last loss %.5f (one rank %.5f), furthest %.1e, %d bytes a step\n", name, mine, last, most, sent }
    ' ./one/metrics.csv "./$name/metrics.csv"
done

# Above the losses, of which the last drawn hides the others; below how far each is from one rank's.
{
    echo "set terminal pngcairo size 1200,900 font 'sans,11'; set output 'loss.png'; set datafile separator ','"
    echo "set grid; set key outside right; set multiplot layout 2,1; set ylabel 'loss'; set title 'loss of each step'"
    printf 'plot'
    for name in "${names[@]}"; do printf " '%s/metrics.csv' using 'step':'loss' with lines title '%s'," "$name" "$name"; done
    echo; echo "set logscale y; set format y '%.0e'; set ylabel 'distance'; set title 'distance from one rank'; set xlabel 'step'"
    printf 'plot'
    for name in "${names[@]:1}"; do
        printf " '< paste -d, one/metrics.csv %s/metrics.csv' using %d:(abs(column(%d)-column(%d))) with lines lt %d title '%s'," \
            "$name" "$step" "$loss" $((loss + columns)) $((++shade + 1)) "$name"
    done
    echo
} >loss.gnuplot
gnuplot loss.gnuplot
echo "drawn: $out/loss.png"
