#!/bin/sh
# slurm_check.sh: examples/train.sbatch on the two nodes of slurm.sh, which runs this: a rank is
# killed, then a node goes down; the job goes on each time, on the nodes that are left, with the
# losses of a run that nobody disturbed. Takes about a minute.
set -eu
cd "$(dirname "$0")/../.."
top=$PWD
program=$top/build/release/hpccoder
work=$(mktemp -d /tmp/hpc-slurm-check-XXXXXX)
trap 'rm -rf "$work"' EXIT
# Two nodes that are one machine must not take each other's memory for shared.
export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo HPCCODER="$program" ROWS=8

# Data out of a few of our own files.
mkdir "$work/own"
cp runtime/base/*.c LICENSE "$work/own"
cd "$work"
git -C own init -q
git -C own add .
git -C own -c user.name=a -c user.email=a@b commit -q -m all
"$program" corpus harvest own=own --held-out none --licenses all --split 0,0 --out corpus -q >/dev/null
"$program" tokenizer train corpus --out tok --vocab 1000 --bytes 100000 -q >/dev/null
"$program" corpus pack corpus --tokenizer tok --out shards -q >/dev/null

model="--hidden 32 --layers 2 --heads 4 --ffn 48 --length 24 --threads 1 --optimizer sgd --lr 0.1"
model="$model --schedule constant --warmup 4"
steps=${STEPS:-1500}
newest() { ls run/checkpoints 2>/dev/null | sed -n 's/^step-0*\([0-9]*\)\.json$/\1/p' | tail -1; }
wait_for() { # STEP: a checkpoint behind it
    n=0
    while [ "$(newest || true)" = "" ] || [ "$(newest)" -le "$1" ]; do
        n=$((n + 1))
        [ $n -lt 600 ] || { echo "no checkpoint behind step $1"; cat job.log; exit 1; }
        sleep 0.1
    done
}

srun --nodes=2 --ntasks=4 --mpi=pmix "$program" train --data shards --rows 8 --zero 1 --out calm \
    $model --steps 150 -q >/dev/null
job=$(sbatch --parsable --nodes=2 --output=job.log --time=10 "$top/examples/train.sbatch" \
    shards run $model --steps "$steps" --save-every 20 --keep 2)
wait_for 0
one=$(pgrep -f "hpccoder train .*--out run .*--save-every 20" | while read -r p; do
    tr '\0' '\n' <"/proc/$p/environ" | grep -qx PMIX_RANK=3 && echo "$p"
done | head -1)
at=$(newest)
kill -KILL "$one"
echo "rank 3 was killed behind step $at"
wait_for "$at"
at=$(newest)
scontrol update nodename=n2 state=down reason=test
echo "node n2 went down behind step $at"
n=0
until grep -q '"finished": *true' job.log; do
    n=$((n + 1))
    [ $n -lt 600 ] || { echo "the job does not end"; squeue -l; sinfo -R -N -l; cat job.log; exit 1; }
    sleep 0.1
done
grep '^start' job.log
grep -q '^start 1: 4 ranks on n1 n2$' job.log
grep -q '^start [2-9]: 2 ranks on n1$' job.log
# Sums over another number of ranks are rounded otherwise, which training amplifies: the first 150.
cut -d, -f1,3 run/metrics.csv >a
cut -d, -f1,3 calm/metrics.csv >b
awk -F, 'NR == FNR { loss[$1] = $2; next }
    $1 + 0 > 0 && $1 <= 150 {
        d = (loss[$1] - $2) / $2; if (d < 0) d = -d; if (d > most) most = d; n++
    }
    END { printf "loss of %d steps: within %.1g of the undisturbed\n", n, most
          exit !(n == 150 && most < 1e-4) }' a b
echo ok
