#!/usr/bin/env bash
# optimizers.sh TRAIN VALIDATION OUT [TOKENS]: which optimizer learns fastest, on shards of one's own.
#
# Each is tuned over four learning rates or more (another beyond the best while that is at the edge) at a
# quarter of TOKENS (10e6 if not given), then runs at full length with the best of them; AdamW and the
# leading three at half that rate, too, as a longer run may like a lower one, and the leading three with the
# better of the two and two more seeds. ABLATIONS change one setting of one optimizer at a quarter of TOKENS. The
# model, the tokens, the batch and the schedule are the same for all. What is finished is not run again,
# and what was stopped goes on, so that the study may take several nights: start it again with the same
# words. JOBS runs (2) share the CPUs. RATES="adamw=0.002 muon=0.004" are taken as found: those are not
# tuned, nor run at half the rate.
#
# At the end OUT/runs.csv, OUT/study.csv, OUT/tokens.png and OUT/time.png: what a step costs is measured
# then, on a machine that does nothing else, since runs beside each other say little about time. OUT/record
# has every eighth step of each run; what we had is in optimizers/.
set -eu -o pipefail
[ $# -ge 3 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
train=$1 validation=$2 out=$3 tokens=${4:-10e6}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
hpccoder=${HPCCODER:-$here/build/release/hpccoder}
shape=${SHAPE:---hidden 256 --layers 4 --heads 4 --kv-heads 4 --ffn 672 --length 256 --dtype bf16}
optimizers=${OPTIMIZERS:-adamw jorge-momentum muon soap shampoo jorge-newton sgd jorge jorge-symmetric}
JOBS=${JOBS:-2}
threads=$(($(nproc) / JOBS > 0 ? $(nproc) / JOBS : 1))
every=$(awk -v t="$tokens" 'BEGIN { printf "%d", t / 2048 / 12 }') # steps between validations
quarter=$(awk -v t="$tokens" 'BEGIN { printf "%.0f", t / 4 }')
mkdir -p "$out"

# Jorge as published learns from one gradient at a time, the others from averages. The two fastest round
# what can be rounded.
extra_of() {
    case $1 in
    sgd) echo --decay 1e-4 ;;
    jorge | jorge-symmetric) echo --interval 1 ;;
    jorge-newton) echo --interval 50 ;;
    jorge-momentum) echo --interval 1 --round-bf16 all ;;
    muon) echo --round-bf16 update ;;
    shampoo | soap) echo --interval 10 ;;
    esac
}

rates_of() { [ "$1" = sgd ] && echo 0.1 0.3 1 3 || echo 0.001 0.002 0.004 0.008; }
step_of() { [ "$1" = sgd ] && echo 3 || echo 2; }

# name, optimizer, what is changed
ablations() {
    cat <<'A'
momentum-every-2 jorge-momentum --interval 2
momentum-every-5 jorge-momentum --interval 5
momentum-steps-1 jorge-momentum --newton 1
momentum-ridge-1e-3 jorge-momentum --ridge 1e-3
momentum-average-0 jorge-momentum --average 0
momentum-average-0.75 jorge-momentum --average 0.75
momentum-0.9 jorge-momentum --momentum 0.9
momentum-block-128 jorge-momentum --block 128
momentum-no-halves jorge-momentum --round-bf16 none
muon-0.9 muon --momentum 0.9
muon-no-halves muon --round-bf16 none
adamw-beta1-0.95 adamw --beta1 0.95
newton-every-10 jorge-newton --interval 10
shampoo-every-50 shampoo --interval 50
symmetric-every-10 jorge-symmetric --interval 10
A
}

done_already() { [ -e "$out/$1/model/model.safetensors" ]; }

one() { # name optimizer rate tokens seed [options that come last and win]
    local name=$1 optimizer=$2 rate=$3 length=$4 seed=$5
    shift 5
    done_already "$name" && return
    # shellcheck disable=SC2046,SC2086
    nice "$hpccoder" train --data "$train" --validation "$validation" --out "$out/$name" $shape --rows 8 \
        --optimizer "$optimizer" --lr "$rate" --tokens "$length" --seed "$seed" $(extra_of "$optimizer") \
        --schedule cosine --warmup 100 --lr-least 0.1 --validate-batches 24 --validate-every "$every" \
        --save-every 200 --keep 1 --resume -q -j "$threads" "$@" >"$out/$name.log" 2>&1 ||
        echo "$name: did not finish, see $out/$name.log" >&2
}

queue() { # lines of arguments of `one`
    while read -r line; do
        while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n || true; done
        # shellcheck disable=SC2086
        one $line </dev/null &
    done
    wait
}

# The last validation loss of a run; a large number if there is none.
loss_of() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "validation_loss") c = i }
        NR > 1 && $c != "" { last = $c } END { print last == "" || last != last + 0 ? 99 : last }' \
        "$out/$1/metrics.csv" 2>/dev/null || echo 99
}

tuned() { # optimizer: its rates and losses, best first
    for dir in "$out/tune-$1"-[0-9]*/; do
        [ -d "$dir" ] || continue
        local name=${dir%/}
        name=${name##*/}
        echo "$(loss_of "$name") ${name#"tune-$1-"}"
    done | sort -g
}
given_rate_of() { # nothing if it is to be tuned
    for pair in ${RATES:-}; do [ "${pair%%=*}" != "$1" ] || echo "${pair#*=}"; done
}
best_rate_of() {
    local given
    given=$(given_rate_of "$1")
    if [ -n "$given" ]; then echo "$given"; else tuned "$1" | awk 'NR == 1 { print $2 }'; fi
}
to_tune=$(for o in $optimizers; do [ -n "$(given_rate_of "$o")" ] || echo "$o"; done)

for o in $to_tune; do
    for lr in $(rates_of "$o"); do echo "tune-$o-$lr $o $lr $quarter 1"; done
done | queue
for _ in 1 2 3; do
    for o in $to_tune; do
        tuned "$o" | awk -v o="$o" -v by="$(step_of "$o")" -v n="$quarter" '
            NR == 1 { best = $2; low = high = $2 }
            { if ($2 < low) low = $2; if ($2 > high) high = $2 }
            END {
                next_lr = best == high ? best * by : best == low ? best / by : 0
                if (next_lr) printf "tune-%s-%g %s %g %s 1\n", o, next_lr, o, next_lr, n
            }'
    done | queue
done

half_of() { awk -v r="$(best_rate_of "$1")" 'BEGIN { printf "%g", r / 2 }'; }
better_of() { # the run of the two at full length
    printf '%s\n' "$(loss_of "$1") $1" "$(loss_of "$1-half") $1-half" | sort -g | awk 'NR == 1 { print $2 }'
}
better_rate_of() {
    case $(better_of "$1") in
    *-half) half_of "$1" ;;
    *) best_rate_of "$1" ;;
    esac
}
for o in $optimizers; do echo "$o $o $(best_rate_of "$o") $tokens 1"; done | queue
leading=$(for o in $optimizers; do echo "$(loss_of "$o") $o"; done | sort -g | awk 'NR <= 3 { print $2 }')
for o in adamw $leading; do
    [ -n "$(given_rate_of "$o")" ] || echo "$o-half $o $(half_of "$o") $tokens 1"
done | queue
for seed in 2 3; do
    for o in $leading; do echo "$o-seed$seed $o $(better_rate_of "$o") $tokens $seed"; done
done | queue
[ "${ABLATE:-1}" = 0 ] || ablations | while read -r name o options; do
    [[ " $optimizers " == *" $o "* ]] || continue
    echo "ablate-$name $o $(best_rate_of "$o") $quarter 1 $options"
done | queue

# ---- what came of it ------------------------------------------------------------------------
adamw=$(loss_of "$(better_of adamw)")
echo run,rate,tokens,loss,tokens_to_adamw >"$out/runs.csv"
for dir in "$out"/*/; do
    name=$(basename "$dir")
    [ -e "$dir/metrics.csv" ] || continue
    awk -F, -v name="$name" -v goal="$adamw" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { tokens = $at["tokens"]; if ($at["lr"] > rate) rate = $at["lr"] }
        $at["validation_loss"] != "" {
            loss = $at["validation_loss"]
            # Between two validations the loss is taken to fall evenly.
            if (!reached && loss <= goal)
                reached = before ? was + (tokens - was) * (before - goal) / (before - loss) : tokens
            before = loss; was = tokens
        }
        END { printf "%s,%g,%d,%.4f,%s\n", name, rate, tokens, loss, reached ? sprintf("%d", reached) : "" }
    ' "$dir/metrics.csv"
done >>"$out/runs.csv"
mkdir -p "$out/record"
for dir in "$out"/*/; do
    [ -e "$dir/metrics.csv" ] || continue
    awk -F, '
        NR == 1 {
            n = split("step tokens loss lr grad_norm step_ms validation_loss", name, " ")
            for (i = 1; i <= NF; i++) at[$i] = i
        }
        {
            row = $at[name[1]]
            for (k = 2; k <= n; k++) row = row "," $at[name[k]]
            shown = NR % 8 == 1 || $at["validation_loss"] != ""
            if (shown) print row
        }
        END { if (!shown) print row }' "$dir/metrics.csv" >"$out/record/$(basename "$dir").csv"
done

# A step of each beside AdamW's, with the refreshes that its interval has: the middle of three.
measure() { # optimizer: over AdamW's; the same by operations alone; milliseconds of AdamW's
    local extra=""
    [ "$1" = sgd ] || extra=$(extra_of "$1")
    for _ in 1 2 3; do
        # shellcheck disable=SC2086
        "$hpccoder" bench optimizer $shape --vocab 8192 --sequences 8 --tied --optimizer adamw \
            --optimizer "$1" $extra --rounds 9 --json -q | tr ',{}' '\n' | awk -F: '
            /^"step_ms"/ { step[++n] = $2 }
            /^"over_adamw"/ { over[n] = $2 }
            /^"over_adamw_by_formula"/ { formula[n] = $2 }
            END { print over[2], formula[2], step[1] }'
    done | sort -g | sed -n 2p
}

# Pictures along time take a step's as measured here: that of the runs is their neighbours' doing, too.
echo optimizer,rate,loss,tokens_to_adamw,step,step_by_formula,time_to_adamw >"$out/study.csv"
mkdir -p "$out/.timed"
timed=() ms=0
for o in $optimizers; do
    run=$(better_of "$o")
    [ -e "$out/$run/metrics.csv" ] || continue
    [ "$o" = adamw ] && beside=muon || beside=$o
    read -r step formula adamw_ms <<<"$(measure "$beside")"
    [ "$o" = adamw ] && step=1 formula=1 ms=$adamw_ms
    awk -F, -v o="$o" -v run="$run" -v step="$step" -v formula="$formula" '$1 == run {
        printf "%s,%s,%s,%s,%.3f,%.3f,%s\n", o, $2, $4, $5, step, formula,
            $5 == "" ? "" : sprintf("%.3f", $5 / $3 * step) }' "$out/runs.csv" >>"$out/study.csv"
    mkdir -p "$out/.timed/$o"
    awk -F, -v OFS=, -v ms="$(awk -v a="$ms" -v b="$step" 'BEGIN { print a * b }')" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_ms") c = i }
        NR > 1 { $c = ms }
        { print }' "$out/$run/metrics.csv" >"$out/.timed/$o/metrics.csv"
    timed+=("$out/.timed/$o")
done
"$hpccoder" report "${timed[@]}" --smooth 50 --out "$out/tokens.png" >/dev/null
"$hpccoder" report "${timed[@]}" --smooth 50 --x time --out "$out/time.png" >/dev/null
column -s, -t "$out/study.csv" 2>/dev/null || cat "$out/study.csv"
