#!/bin/sh
# equal.sh OLD NEW [REPOSITORY=RANGE ...]: two builds of hpccoder give the same results, byte for
# byte: `perf collect`, `perf train`, `perf predict` and `perf report` on a repository that this
# script makes and on repositories of the caller, `report` on training runs, and messages of errors.
#
# It keeps the results of OLD and NEW in a folder that it names, if they differ. Only measured
# seconds and rates are left out. It does not compare speed.
set -u
[ $# -ge 2 ] || { echo "usage: equal.sh OLD NEW [REPOSITORY=RANGE ...]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
old=$(realpath "$1") || exit 2
new=$(realpath "$2") || exit 2
shift 2
work=$(mktemp -d) || exit 3
model=$root/share/models/perf
export LC_ALL=C COLUMNS=100
mkdir "$work/old" "$work/new"

# ---- inputs: a repository of a C program, and two training runs ----
git init -q -b main "$work/r"
awk 'BEGIN {
    for (k = 1; k <= 16; k++) {
        cost = k < 6 ? 40 : k < 11 ? 55 : 44
        loop = k == 8 ? "for (int j = 0; j < 3; j++) s += i / (j + 1);" : "s += i;"
        c = "#include <stdio.h>\n\n/* " k " */\nstatic long sum(int n)\n{\n    long s = 0;\n" \
            "    for (int i = 0; i < n; i++) " loop "\n    return s;\n}\n\nint main(void)\n{\n" \
            "    printf(\"sum %ld units " cost "\\n\", sum(" cost "000));\n    return 0;\n}\n"
        if (k == 13) c = "int main(void) { return missing(); }\n"
        message = "change " k " <b>&amp;</b>\n"
        print "commit refs/heads/main\ncommitter a <a@example.org> " 1700000000 + 86400 * k " +0000"
        print "data " length(message) "\n" message
        print "M 644 inline p.c\ndata " length(c) "\n" c
    }
}' | git --git-dir="$work/r/.git" fast-import --quiet || exit 3
awk 'BEGIN {
    line = "step,tokens,loss,lr,grad_norm,step_ms,tokens_per_s,tflops,mfu,peak_bytes,comm_bytes," \
           "validation_loss,skipped"
    for (run = 1; run <= 3; run++) {
        file = "'"$work"'/run" run "/metrics.csv"
        system("mkdir -p '"$work"'/run" run)
        print line >file
        for (k = 1; k <= 300; k++)
            print k "," k * 512 "," (run == 3 && k > 250 ? "nan" : 4 / (1 + k / 50) + run / 10) \
                ",0.001,1.5," 100 + k % 7 ",5000,1,0.1,1000,0," (k % 50 ? "" : 3 - k / 200) \
                "," (k % 90 == 0) >file
        close(file)
        printf "{\"hidden\": 64, \"layers\": 2, \"lr\": %g, \"optimizer\": \"%s\", \"out\": \"r%d\"}\n",
            run / 1000, run == 2 ? "muon" : "adamw", run >"'"$work"'/run" run "/config.json"
    }
}'

zstd -dcq "$model/real.csv.zst" | awk 'NR == 1 || NR % 16 == 0' >"$work/some.csv" || exit 3

# ---- cases ----
# run NAME WORDS...: output, messages and exit status of both builds, and files that they write.
run() {
    name=$1
    shift
    for side in old new; do
        [ $side = old ] && program=$old || program=$new
        (cd "$work/$side" && "$program" "$@" >"$name.out" 2>"$name.err"; echo $? >"$name.status")
        for text in out err; do
            sed -i -E -e 's/"((build|run)_seconds|seconds(_saved)?)": [0-9.e+-]+/"\1": 0/' \
                -e 's/[0-9.]+ s of (builds|runs)/0 s of \1/g' \
                -e 's/commits in [^,]*, .*commits.s$/commits in 0s/' \
                -e 's/about [0-9.]+ minutes saved, at [0-9.]+ s/about 0 minutes saved, at 0 s/' \
                "$work/$side/$name.$text"
        done
    done
}

for command in collect predict report train; do run "help-$command" perf $command --help; done
run help-report report --help

collect() { # NAME WORDS...
    name=$1
    shift
    run "$name" perf collect --repo "$work/r" --build 'cc -g -O1 -o p p.c' --run ./p \
        -m 'units=units (\d+)' --machine box -n 2 --repeat-most 2 --product p "$@"
}
collect collect -q --db a.db
collect collect-again -q --db a.db --json
collect collect-range -q --db b.db --range HEAD~4..HEAD --path p.c
if command -v valgrind >/dev/null; then
    run collect-cost perf collect --repo "$work/r" --build 'cc -g -O1 -o p p.c' --run ./p -m cost \
        --machine box --db cost.db -q --json
    run predict-heat perf predict HEAD~12..HEAD --repo "$work/r" --model "$model" --db cost.db -v
    run train-cost perf train --db cost.db --examples "$work/some.csv" --out m-cost
fi
rm -rf "$work"/old/*.work "$work"/new/*.work

run report perf report --db a.db --repo "$work/r"
run report-json perf report --db a.db --db b.db --repo "$work/r" --json
run report-page perf report --db a.db --db b.db --out page
run report-subjects perf report --db a.db --repo "$work/r" --out subjects --threshold 2
run report-none perf report --db a.db -m absent
run report-series perf report --db a.db --series nothing
run report-missing perf report --db none.db

run train perf train --db a.db --examples "$model/real.csv.zst" --out m
run train-json perf train --db a.db --repo "r=$work/r" --examples "$work/some.csv" --out m-json \
    --evaluate --json --alarm 10 -m units -m cost
run train-evaluate perf train --examples "$work/some.csv" --out m-evaluate --evaluate
run train-judge perf train --examples "$work/some.csv" --judge-on "$model/examples.csv.zst" \
    --out m-judge
run train-few perf train --db a.db --out m-few
run train-nothing perf train
run train-profile perf train --db a.db --line-profile x=a.db --out m-profile
run train-repository perf train --db a.db --repo "$root" --out m-repository
run train-file perf train --examples none.csv --out m-file

# predictions REPOSITORY RANGE NAME
predictions() {
    for format in text json markdown github sarif; do
        run "predict-$3-$format" perf predict "$2" --repo "$1" --model "$model" --format $format \
            --warn-on 0.3 --fail-on 0.6
    done
    run "predict-$3-verbose" perf predict "$2" --repo "$1" --model "$model" -v --all
    run "predict-$3-each" perf predict "$2" --repo "$1" --model "$model" --each --fail-on 0.5
}
predictions "$work/r" HEAD~12..HEAD made
number=0
for pair in "$@"; do
    number=$((number + 1))
    predictions "${pair%%=*}" "${pair#*=}" "given-$number"
done
for json in '' --json; do
    run "predict-measure$json" perf predict HEAD~14..HEAD --repo "$work/r" --model "$model" --measure \
        --build 'cc -g -O1 -o p p.c' --run ./p -m 'units=units (\d+)' --machine box -n 2 \
        --db "m$json.db" --fail-on 0.9 -q $json
done
rm -rf "$work"/old/*.work "$work"/new/*.work
run predict-nothing perf predict
run predict-dots perf predict a...b
run predict-model perf predict HEAD~1.. --repo "$work/r" --model /none
run predict-build perf predict HEAD~1.. --repo "$work/r" --model "$model" --build make
run predict-language perf predict HEAD~1.. --repo "$work/r" --model "$model" --language /none
run predict-repository perf predict HEAD~1.. --repo "$work/run1" --model "$model"

for words in '' --json '--x time' '--smooth 1' '--out runs.html' '--out runs.svg' '--out runs.png' \
    '--out step.html --x step'; do
    name=training$(printf %s "$words" | tr -c 'a-z0-9' -)
    run "$name" report "$work/run1" "$work/run2" "$work/run3" $words
done
run training-one report "$work/run2"
run training-none report "$work/none"

# ---- comparison: histories by what they hold, all else by its bytes ----
for side in old new; do
    for db in "$work/$side"/*.db; do
        if command -v sqlite3 >/dev/null; then
            for table in commits series profile; do
                sqlite3 "$db" "select * from $table order by 1, 2, 3" >"$db.$table" || exit 3
            done
            sqlite3 "$db" 'select series, commit_id, run, value from sample order by 1, 2, 3' \
                >"$db.sample" || exit 3
        fi
        rm -f "$db" "$db-wal" "$db-shm"
    done
done
files=$(find "$work/old" -type f | wc -l)
if diff -r -q "$work/old" "$work/new"; then
    echo "equal: $files files"
    rm -rf "$work"
else
    echo "the builds differ; results are in $work" >&2
    exit 1
fi
