#!/bin/sh
# layers.sh: who may include whom, and which line may touch what (the table in CONTRIBUTING.md).
# It reads text; link.sh has the linker prove the same of calls.
. tests/lint/lib.sh
status=0

# ---- includes of our own headers ----
sources=$(product)
[ -n "$sources" ] || exit 0
grep -n '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' $sources /dev/null | awk '
    FNR == NR {
        if ($0 !~ /^#/ && NF > 2) {
            room[++rooms] = $1; folder[$1] = $2
            may[$1, $1] = 1
            for (i = 3; i <= NF; i++) may[$1, $i] = 1
        }
        next
    }
    # The module with the longest folder that contains the file: modules may be nested.
    function room_of(path,    i, best, length_of_best) {
        for (i = 1; i <= rooms; i++)
            if (index(path, folder[room[i]] "/") == 1 && length(folder[room[i]]) > length_of_best) {
                best = room[i]; length_of_best = length(folder[best])
            }
        return best
    }
    {
        split($0, part, ":"); file = part[1]; at = part[1] ":" part[2]
        target = $0; sub(/[^"]*"/, "", target); sub(/".*/, "", target)
        from = room_of(file)
        to = room_of(target)
        home = target; sub(/\/[^\/]*$/, "", home)
        if (from == "") print at ": is in no room; add it to tests/lint/rooms"
        else if (target ~ /\.\./) print at ": include \"" target "\": name the path from the root"
        else if (target ~ /^tests\//) print at ": the product includes a test"
        else if (target == "config.h") next
        else if (target !~ /\//) print at ": include \"" target "\": name the path from the root"
        else if (to == "") print at ": include \"" target "\" is in no room"
        else if (!((from, to) in may)) print at ": " from " may not know " to " (" target ")"
        else if (target ~ /[/_]priv\.h$/ && index(file, home "/") != 1)
            print at ": " target " is private to " home
    }' tests/lint/rooms - | report 'layers' || status=1

# ---- vendors: header, and the only place for it ----
while read -r header place; do
    grep -nE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($header)[>\"]" $sources /dev/null |
        grep -vE "^($place)" | report "vendor header outside $place" || status=1
done <<'END'
jansson[^/]*\.h runtime/base/
(oneapi/.*|dnnl[^/]*\.h) runtime/device/peer/
(cblas|openblas[^/]*|mkl[^/]*)\.h runtime/device/peer/
(cuda|cublas|nvrtc|cudnn)[^>]* runtime/device/cuda/|runtime/link/nccl/
nccl\.h runtime/link/nccl/
mpi(-ext)?\.h runtime/link/mpi/
git2[^>]*\.h runtime/git/
clang-c/[^>]* runtime/source/clang/
flang/[^>]* runtime/source/flang/
microhttpd\.h infer/serve/microhttpd/
sentencepiece[^>]* tokenizer/sentencepiece/
pcre2\.h tokenizer/
utf8proc\.h tokenizer/
sqlite3\.h corpus/
zstd\.h corpus/|runtime/base/file_unpack\.c
xxhash\.h runtime/base/
cmocka[^>]* tests/
END

# ---- calls: pattern, the only places, why ----
stripped=$(mktemp) || exit 1
trap 'rm -f "$stripped"' EXIT
code $sources >"$stripped"
while read -r places pattern; do
    grep -E "^[^:]*:[0-9]*:(.*[^A-Za-z0-9_.>])?($pattern)" "$stripped" |
        grep -vE "^($places)" | report "only in $places" || status=1
done <<'END'
runtime/base/file[a-z_]*\.c|runtime/git/export\.c|runtime/proc/keep\.c|infer/verify/witness/ (fopen|freopen|fdopen|open|openat|creat|opendir|mkstemp|tmpfile)[[:space:]]*\(
cmd/|runtime/base/error\.c (fprintf|vfprintf|fputs|fputc|fwrite|perror|abort)[[:space:]]*\(
cmd/|runtime/base/error\.c stderr($|[^A-Za-z0-9_])
cmd/ stdout($|[^A-Za-z0-9_])
cmd/ (printf|vprintf|puts|putchar|exit|_Exit|quick_exit)[[:space:]]*\(
cmd/|runtime/proc/|runtime/source/check_serve\.c _exit[[:space:]]*\(
cmd/|runtime/proc/|runtime/link/mpi\.c|infer/verify/witness/|eval/bench/peers\.c (getenv|secure_getenv|setenv|putenv)[[:space:]]*\(
END

# ---- macros are 0 or 1 ----
grep -nE '#[[:space:]]*(ifn?def[[:space:]]+|(el)?if.*defined[ (]*)HPC_' $sources /dev/null |
    grep -vE '#[[:space:]]*ifndef[[:space:]]+HPC_[A-Z0-9_]*_H[[:space:]]*$' |
    report 'write #if: our macros are always 0 or 1' || status=1
exit $status
