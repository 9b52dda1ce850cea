#!/usr/bin/env bash
# optimizers.sh TRAIN VALIDATION OUT [TOKENS]: which optimizer learns fastest, on shards of one's own.
#
# Each is tuned over four learning rates at a quarter of TOKENS (10e6 if not given), then runs at full
# length with the best of them; the leading three again with two more seeds. The model, the tokens, the
# batch and the schedule are the same for all. What is finished is not run again, and what was stopped
# goes on, so that the study may take several days' nights: start it again with the same words.
#
# At the end: a table on standard output, OUT/full.html and OUT/full.png. Settings of one optimizer can
# be changed in `extra_of`, of the model in MODEL.
set -eu -o pipefail
[ $# -ge 3 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
train=$1 validation=$2 out=$3 tokens=${4:-10e6}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
hpccoder=${HPCCODER:-$here/build/release/hpccoder}
MODEL=${MODEL:---hidden 224 --layers 6 --heads 7 --ffn 608 --length 256 --rows 8}
optimizers=${OPTIMIZERS:-sgd adamw muon shampoo soap jorge jorge-symmetric jorge-newton}
mkdir -p "$out"

rates_of() {
    case $1 in
    sgd) echo 0.03 0.1 0.3 1 ;;
    *) echo 0.001 0.002 0.004 0.008 ;;
    esac
}

# Jorge as published refreshes from one gradient; the others average.
extra_of() {
    case $1 in
    jorge | jorge-symmetric) echo --interval 1 ;;
    shampoo | soap) echo --interval 10 ;;
    jorge-newton) echo --interval 50 ;;
    esac
}

run() { # name optimizer rate tokens seed
    local dir=$out/$1
    [ -e "$dir/model/model.safetensors" ] && return
    # shellcheck disable=SC2046,SC2086
    "$hpccoder" train --data "$train" --validation "$validation" --out "$dir" $MODEL \
        --optimizer "$2" --lr "$3" --tokens "$4" --seed "$5" $(extra_of "$2") --schedule cosine \
        --warmup 100 --lr-least 0.1 --validate-batches 100 --validate-every 200 --save-every 200 \
        --keep 1 --resume -q || echo "$1: did not finish" >&2
}

# The last validation loss of a run; a large number if there is none.
loss_of() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "validation_loss") c = i }
        NR > 1 && $c != "" { last = $c } END { print last == "" ? 99 : last }' \
        "$out/$1/metrics.csv" 2>/dev/null || echo 99
}

quarter=$(awk -v t="$tokens" 'BEGIN { printf "%.0f", t / 4 }')
for o in $optimizers; do
    for lr in $(rates_of "$o"); do run "tune-$o-$lr" "$o" "$lr" "$quarter" 1; done
done

best_rate_of() { # optimizer
    for lr in $(rates_of "$1"); do echo "$(loss_of "tune-$1-$lr") $lr"; done | sort -g | awk 'NR == 1 { print $2 }'
}

for o in $optimizers; do run "$o" "$o" "$(best_rate_of "$o")" "$tokens" 1; done
leading=$(for o in $optimizers; do echo "$(loss_of "$o") $o"; done | sort -g | awk 'NR <= 3 { print $2 }')
for o in $leading; do
    for seed in 2 3; do run "$o-seed$seed" "$o" "$(best_rate_of "$o")" "$tokens" "$seed"; done
done

# Tokens and hours at which a run's validation loss first was at most AdamW's last one.
adamw=$(loss_of adamw)
printf '%-22s  %8s  %10s  %8s  %8s\n' run rate validation 'tokens' 'time'
for dir in "$out"/*/; do
    name=$(basename "$dir")
    case $name in tune-*) continue ;; esac
    awk -F, -v name="$name" -v rate="$(best_rate_of "${name%-seed*}")" -v goal="$adamw" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { ms += $at["step_ms"]; tokens = $at["tokens"] }
        $at["validation_loss"] != "" {
            last = $at["validation_loss"]
            if (!reached && last <= goal) { reached = tokens; when = ms / 3.6e6 }
        }
        END {
            printf "%-22s  %8s  %10.4f  %8s  %8s   (%.3g tokens, %.2f hours)\n", name, rate, last, \
                reached ? sprintf("%.3g", reached) : "never", when ? sprintf("%.2f h", when) : "-", \
                tokens, ms / 3.6e6
        }' "$dir/metrics.csv"
done
runs=()
for o in $optimizers; do [ -e "$out/$o/metrics.csv" ] && runs+=("$out/$o"); done
"$hpccoder" report "${runs[@]}" --smooth 50 --out "$out/full.html" >/dev/null
"$hpccoder" report "${runs[@]}" --smooth 50 --out "$out/full.png"
