#!/bin/sh
# symbols.sh BUILD: names of global symbols. A symbol that another module uses begins with hpc_, no two
# objects define the same symbol, and a shared object exports only the symbols that are looked up in it.
. tests/lint/lib.sh
build=$1
status=0
set --
for file in $(awk '/^[a-z]/ { print "libhpc-" $1 ".a" }' tests/lint/rooms) cmd/main.o; do
    [ ! -f "$build/$file" ] || set -- "$@" "$build/$file"
done
nm -A -g "$@" | awk '
    NF < 3 { next }
    { file = $1; sub(/:[0-9a-f]*$/, "", file); module = file; sub(/:[^:]*$/, "", module); type = $(NF - 1); name = $NF }
    type == "U" { n++; user[n] = module; used[n] = name; next }
    type ~ /[TDBRC]/ {
        if (name in home) print file ": " name " is also defined in " home[name]
        home[name] = file; of[name] = module
    }
    END {
        for (k = 1; k <= n; k++) {
            name = used[k]
            if (name in of && of[name] != user[k] && name !~ /^hpc_/ && !seen[name]++)
                print home[name] ": " name " is used by " user[k] " and does not begin with hpc_"
        }
    }' | sort | report 'name it hpc_<noun>_<verb>, or keep it in its module' || status=1

for object in "$build"/hpccoder-*.so; do
    [ -f "$object" ] || continue
    nm -D --defined-only "$object" | awk -v object="$object" '
        $2 ~ /[TDBR]/ && $3 !~ /^(hpc_|_)/ { print object ": exports " $3 }'
done | report 'hide it' || status=1
exit $status
