# json_cases.sh: inputs for every command that prints JSON, made from files of the repository.
# ROOT is the repository; the current folder is empty. Each case is a line
#   SECTION | NEEDS | COMMAND
# on standard output: the section of docs/json.md that describes what COMMAND prints, and the shared
# objects and programs without which it is left out.
set -eu
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_AUTHOR_DATE=2026-01-01T12:00:00Z
export GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org GIT_COMMITTER_DATE=2026-01-01T12:00:00Z
export GIT_CONFIG_GLOBAL=/dev/null

mkdir src
cp "$ROOT"/runtime/base/*.c "$ROOT"/runtime/base/*.h "$ROOT/LICENSE" src
git -C src init -q .
git -C src remote add origin https://example.org/me/src
git -C src add -A
git -C src commit -q -m 'Add sources'
echo me/src >held-out.txt

cat >axpy.c <<'END'
void axpy(int n, float a, const float *x, float *y)
{
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}
float sum(int n, const float *x)
{
    float s = 0;
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        s += x[i];
    return s;
}
void scan(int n, float *x)
{
    for (int i = 1; i < n; i++)
        x[i] += x[i - 1];
}
void clear(float x[1000000])
{
    for (int i = 0; i < 1000000; i++)
        x[i] = 0;
}
END
cat >missing.c <<'END'
#include "none.h"
void f(int n, float *x)
{
    for (int i = 0; i < n; i++)
        x[i] = g(i);
}
END
printf '#include "lapacke_utils.h"\n\nlapack_int LAPACKE_dtrsv( ' >dtrsv.c

# A program whose commits make it slower and faster, and one that does not compile.
mkdir app
git -C app init -q .
version() { # repetitions subject
    sed "s/REPEAT/$1/" >app/main.c <<'END'
#include <stdio.h>
static double work(const double *x, int n)
{
    double s = 0;
    for (int r = 0; r < REPEAT; r++)
        for (int i = 0; i < n; i++)
            s += x[i] / (1.0 + r);
    return s;
}
int main(void)
{
    static double x[1000];
    for (int i = 0; i < 1000; i++) x[i] = i;
    printf("%g\n", work(x, 1000));
    return 0;
}
END
    git -C app add -A
    git -C app commit -q -m "$2"
}
version 100 'Add a sum'
version 101 'Repeat it once more'
version 100 'Repeat it once less'
version 400 'Repeat it often'
version 401 'Repeat it more often'
version 400 'Repeat it less often'
version 'break' 'Break it'
version 100 'Repeat it less'

# One whose last change is unlike any that the model has seen.
mkdir odd
git -C odd init -q .
echo 'int f(int x) { return x; }' >odd/odd.c
git -C odd add -A
git -C odd commit -q -m 'Add a function'
for k in 1 2 3 4 5 6 7 8 9; do
    cat >>odd/odd.c <<END
double g$k(double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) s += x[i] / x[j] * *(double *)malloc(4);
    return s;
}
END
done
git -C odd commit -q -a -m 'Allocate in loops'

zstd -dcq "$ROOT/share/models/perf/examples.csv.zst" | awk -F, 'BEGIN { OFS = "," }
    NR == 1 { print; next }
    { n[$6]++ }
    n[$6] <= 60 { $1 = "r" n[$6] % 5; print }' >examples.csv

small="--hidden 16 --layers 1 --heads 2 --ffn 16 --length 64 --rows 2 --steps 4 --warmup 1"
build="--build 'gcc -O1 -g main.c -o main' --run ./main -m cost"
cat <<END
info | | hpccoder info --json
complete | hpccoder-clang | hpccoder complete axpy.c --at 4:9 --stop line --max-tokens 16 --json
complete | hpccoder-clang | hpccoder complete dtrsv.c --stop function --json
pragma | hpccoder-clang | hpccoder pragma axpy.c --json
pragma | hpccoder-clang | hpccoder pragma --rank axpy.c --json
pragma | hpccoder-clang | hpccoder pragma missing.c --json
pragma --format sarif | hpccoder-clang | hpccoder pragma axpy.c --format sarif
corpus harvest | | hpccoder corpus harvest src --out corpus --held-out none --json
harvest.json | | cat corpus/harvest.json
corpus sketch | | hpccoder corpus sketch src --list held-out.txt --out held-out.sketch --json
corpus check | | hpccoder corpus check --held-out held-out.sketch --json axpy.c src/arena.c
corpus check | | hpccoder corpus check corpus --json
corpus stats | | hpccoder corpus stats corpus --json
corpus loops CORPUS | | hpccoder corpus loops corpus --out loops --json
corpus loops FILE | | hpccoder corpus loops axpy.c --json
corpus loops FILE | | head -n 20 loops/loops.jsonl
corpus passages | | hpccoder corpus passages corpus --out model.passages --json
tokenizer train | hpccoder-spm.so | hpccoder tokenizer train corpus --out tok --vocab 768 --json
tokenizer encode | hpccoder-spm.so | hpccoder tokenizer encode axpy.c --model tok --pieces --json
corpus pack | hpccoder-spm.so | hpccoder corpus pack corpus --tokenizer tok --out data --split all --json
index.json | hpccoder-spm.so | cat data/train/index.json
train --dry-run | hpccoder-spm.so | hpccoder train --data data/train $small --out run --dry-run --json
train | hpccoder-spm.so | hpccoder train --data data/train --validation data/train --validate-every 2 $small --grid data=2 --out run --trace trace.json --json
trace | hpccoder-spm.so | cat trace.json
metrics.csv | hpccoder-spm.so | cat run/metrics.csv
report | hpccoder-spm.so | hpccoder report run --json
import, export | hpccoder-spm.so | hpccoder import run/model --out model --json
import, export | hpccoder-spm.so | hpccoder export "$ROOT/share/pilot.gguf" --to packed --out pilot.packed --json
perf collect | valgrind | hpccoder perf collect --repo app $build --db perf.db --json
perf report | valgrind | hpccoder perf report --repo app --db perf.db --json
perf predict | | hpccoder perf predict --repo app HEAD~4..HEAD --json
perf predict | | hpccoder perf predict --repo odd HEAD --json
perf predict | | printf '%s known\nother.c known\n' "\$(git -C app rev-parse HEAD~4)" | hpccoder perf predict --repo app HEAD~5..HEAD~2 --ack - --json
perf predict | valgrind | hpccoder perf predict --repo app --measure $build --db new.db HEAD~5..HEAD --json
perf predict --format sarif | | hpccoder perf predict --repo app HEAD~6..HEAD~4 --each --format sarif
corpus pack | valgrind hpccoder-spm.so | hpccoder corpus pack --task perf --perf perf.db --repository app --tokenizer tok --out pairs --split all --json
perf train | | hpccoder perf train --examples examples.csv --evaluate --out learnt --json
eval perf | | hpccoder eval perf --examples examples.csv --json
eval complete, eval perplexity, eval pareval, eval pragma | | hpccoder eval perplexity "$ROOT/share/pilot.gguf" axpy.c missing.c --out scores --json
eval complete, eval perplexity, eval pareval, eval pragma | | hpccoder eval perplexity "$ROOT/share/pilot.gguf" axpy.c --compare scores --json
plan show | | hpccoder plan show --grid data=2,row=2 --json
plan show | | hpccoder plan show --grid pipe=2 --layers 2 --json
plan show | | hpccoder plan show --grid pipe=2 --pipe-vocab interlaced --layers 2 --json
plan check | | hpccoder plan check --grid data=2 --json
plan check | | hpccoder plan check --grid data=2 --memory 0.00001 --json
plan simulate | | hpccoder plan simulate --machine two-cores --grid data=2 --json
plan simulate | | hpccoder plan simulate --machine two-cores --grid pipe=2 --layers 2 --sequences 8 --accumulate 4 --json
bench op | hpccoder-peer.so | hpccoder bench op --op matmul --shape 16,16,16 --attr trans_b --seconds 0.01 --json
bench op | hpccoder-peer.so | hpccoder bench op --op nop --seconds 0.01 --json
bench step | hpccoder-peer.so | hpccoder bench step --steps 2 --hidden 32 --layers 1 --ffn 32 --floor --json
bench decode | | hpccoder bench decode --shape 5m --prompt 8 --tokens 2 --turns 1 --json
bench graph | | hpccoder bench graph --model gat --graph mesh --features 16 --vertices 200 --edges 1600 --rounds 1 --json
bench optimizer | | hpccoder bench optimizer --hidden 32 --layers 1 --heads 2 --kv-heads 2 --ffn 32 --length 16 --optimizer muon --json
bench link | | hpccoder bench link --most 64 --rounds 1 --json
END
