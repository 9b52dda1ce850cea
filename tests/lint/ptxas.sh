#!/bin/sh
# ptxas.sh BUILD: registers, spills and shared memory of each CUDA kernel, by architecture, against the
# committed table ptxas.txt. More registers than listed, a spill, or a kernel without a row fails.
# ptxas.sh --write BUILD prints the table of a build.
. tests/lint/lib.sh
write=0
[ "$1" != --write ] || { write=1 && shift; }
build=$1
table=tests/lint/ptxas.txt
set -- "$build"/runtime/device/cuda/*.gpu.log
[ -f "$1" ] || { echo 'SKIP: no CUDA kernels were built (nvcc)'; exit 0; }

# ARCHITECTURE KERNEL REGISTERS SPILLED-BYTES SHARED-BYTES
found=$(awk '
    /Compiling entry function/ {
        match($0, /sm_[0-9a-z]+/); arch = substr($0, RSTART, RLENGTH)
        name = $0; sub(/.*entry function .*simt_entryI/, "", name); sub(/EEv.*/, "", name)
        sub(/.*_cu_[0-9a-f]+set_condition.*/, "set_condition", name) # of graphs, not a kernel of simt.cuh
        gsub(/N[0-9]+_GLOBAL__N__[0-9a-f]+_[0-9]+_[a-z_]+_cu_[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]/, "", name)
        size = ""
        if (match(name, /ILi[0-9]+/)) { # a template argument
            size = "." substr(name, RSTART + 3, RLENGTH - 3)
            sub(/ILi[0-9]+/, "", name)
        }
        gsub(/[0-9]+/, " ", name); gsub(/E|I/, "", name); sub(/^ +/, "", name); gsub(/ +/, ".", name)
        name = name size
    }
    /bytes spill stores/ { split($0, part, ","); spill = part[2] + part[3] }
    /: Used [0-9]+ registers/ {
        match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5)
        shared = match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART, RLENGTH) + 0 : 0
        print arch, name, registers, spill + 0, shared
    }' "$@" | sort -u)
[ $write = 0 ] || { echo "$found"; exit 0; }
echo "$found" | awk '
    FNR == NR { if (!/^#/) { registers[$1, $2] = $3; listed[$1, $2] } ; next }
    !(($1, $2) in listed) { print "kernel " $2 " for " $1 ": no row (" $3 " registers)"; next }
    $3 > registers[$1, $2] { print "kernel " $2 " for " $1 ": " $3 " registers, " registers[$1, $2] " are listed" }
    $4 > 0 { print "kernel " $2 " for " $1 ": spills " $4 " bytes" }
    $5 > 0 { print "kernel " $2 " for " $1 ": static shared memory of " $5 " bytes" }
' "$table" - | report "$table"
