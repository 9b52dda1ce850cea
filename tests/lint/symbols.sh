#!/bin/sh
# symbols.sh BUILD: names of global symbols. A symbol that another module uses begins with hpc_; one that
# does not begin so is used in another object or a test, else it is static; no two objects define the same
# symbol; and a shared object exports only the symbols that are looked up in it.
. tests/lint/lib.sh
build=$1
status=0
set --
for file in $(awk '/^[a-z]/ { print "libhpc-" $1 ".a" }' tests/lint/rooms) cmd/main.o runtime/source/clang/main.o; do
    [ ! -f "$build/$file" ] || set -- "$@" "$build/$file"
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
files 'tests/*.c' 'tests/*.h' | xargs cat /dev/null | grep -oE '[a-z_][A-Za-z0-9_]*' | sort -u >"$work/tests"

# MODULE OBJECT TYPE NAME
nm -A -g "$@" | awk 'NF > 2 {
    file = $1; sub(/:[0-9a-f]*$/, "", file); object = file; sub(/.*[:\/]/, "", object)
    module = file; sub(/:[^:]*$/, "", module); sub(/.*\/(libhpc-)?/, "", module); sub(/\.[ao]$/, "", module)
    if (module == "main") module = file ~ /source/ ? "source" : "cmd"
    print module, object, $(NF - 1), $NF
}' >"$work/symbols"
awk '
    FILENAME == ARGV[1] { tested[$1]; next }
    $3 == "U" { used[$4]; n++; user[n] = $1; name[n] = $4; next }
    $3 ~ /[TDBRC]/ {
        if ($4 in home && $4 != "main") print $1 " " $2 ": " $4 " is also defined in " home[$4] " " object[$4]
        home[$4] = $1; object[$4] = $2
    }
    END {
        for (k = 1; k <= n; k++) {
            x = name[k]
            if (x in home && home[x] != user[k] && x !~ /^hpc_/ && !seen[x]++)
                print home[x] " " object[x] ": " x " is used by " user[k] " and does not begin with hpc_"
        }
        for (x in home) # kernels name their instruction set: act.avx2.o
            if (!(x in used) && !(x in tested) && x !~ /^(hpc_|main$)/ && object[x] !~ /\..*\.o$/)
                print home[x] " " object[x] ": " x " is used in no other object: make it static"
    }' "$work/tests" "$work/symbols" | sort | report 'global symbol' || status=1

for object in "$build"/hpccoder-*.so; do
    [ -f "$object" ] || continue
    nm -D --defined-only "$object" | awk -v object="$object" '
        $2 ~ /[TDBR]/ && $3 !~ /^(hpc_|_)/ { print object ": exports " $3 }'
done | report 'hide it' || status=1
exit $status
