#!/bin/sh
# globals.sh BUILD: no mutable globals. Every object of the product has an empty .data and .bss;
# constants (.rodata, .data.rel.ro) and thread-local storage are fine.
. tests/lint/lib.sh
build=$1
set -- "$build"/libhpc-*.a
for object in "$build"/cmd/main.o "$build"/runtime/device/peer/*.o \
    "$build"/runtime/source/clang/*.o "$build"/runtime/link/mpi/*.o \
    "$build"/runtime/link/nccl/*.o "$build"/runtime/device/cuda/*.shim.o \
    "$build"/runtime/device/cuda/shim/*.o "$build"/infer/serve/microhttpd/*.o; do
    [ -f "$object" ] && set -- "$@" "$object"
done
objdump -t "$@" | awk '
    /file format/ { object = $1; sub(/:$/, "", object); next }
    {
        split($0, half, "\t")
        n = split(half[1], left, " ")
        section = left[n]
        if (section !~ /^\.(data|bss)(\.|$)/ && section != "*COM*") next
        if (section ~ /^\.data\.rel\.ro/) next
        split(half[2], right, " ")
        name = right[2] == ".hidden" ? right[3] : right[2]
        if (name != section) print object ": " name " in " section
    }' | report 'mutable global: pass it as an argument'
