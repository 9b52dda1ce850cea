#!/bin/sh
# encode.sh FILE MODEL: `hpccoder tokenizer encode` with one and two threads beside Debian's
# spm_encode (package sentencepiece) on the same file and tokenizer.model; alternating, medians of
# RUNS (5). All write the ids as text to nowhere; all start and load the model in the time.
set -eu
program=${HPCCODER:-build/release/hpccoder}
runs=${RUNS:-5}
file=$1 model=$2
now() { date +%s.%N; }
run=0
while [ "$run" -lt "$runs" ]; do
    run=$((run + 1))
    a=$(now)
    "$program" tokenizer encode "$file" --model "$model" --threads 1 >/dev/null
    b=$(now)
    "$program" tokenizer encode "$file" --model "$model" --threads 2 >/dev/null
    c=$(now)
    spm_encode --model="$model" --output_format=id <"$file" >/dev/null
    d=$(now)
    echo "$a $b $c $d"
done | awk -v bytes="$(wc -c <"$file")" '
    { one[NR] = $2 - $1; two[NR] = $3 - $2; theirs[NR] = $4 - $3 }
    function median(x, n,    i, j, t) {
        for (i = 2; i <= n; i++) for (j = i; j > 1 && x[j - 1] > x[j]; j--) {
            t = x[j]; x[j] = x[j - 1]; x[j - 1] = t
        }
        return n % 2 ? x[(n + 1) / 2] : (x[n / 2] + x[n / 2 + 1]) / 2
    }
    END {
        a = median(one, NR); b = median(two, NR); c = median(theirs, NR)
        printf "%.1f MB, medians of %d runs\n", bytes / 1e6, NR
        printf "ours, 1 thread    %7.3f s  %6.1f MB/s\n", a, bytes / a / 1e6
        printf "ours, 2 threads   %7.3f s  %6.1f MB/s  %.2f x one\n", b, bytes / b / 1e6, a / b
        printf "spm_encode        %7.3f s  %6.1f MB/s  ours over it: %.2f\n", c, bytes / c / 1e6, c / a
    }'
