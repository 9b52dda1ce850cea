#!/bin/sh
# headers.sh BUILD: each header compiles alone as C11; those that other rooms may include (named
# like their folder) as C++17 too, and all of these together as both.
. tests/lint/lib.sh
flags="-I. -I$1 -D_GNU_SOURCE -DHPC_ISA_NAME=base -DHPC_WIDTH_NAME=base -fopenmp-simd -Wall -Wextra -Werror -fsyntax-only"
clang=$(sed -n 's/^FLAGS_clang := //p' "$1/config.mk" 2>/dev/null)
flags="$flags $clang"
status=0 all=
for header in $(product | grep '\.h$'); do
    # What is made of a library's own types compiles where that library is.
    case $header in
    runtime/source/flang/priv.h | runtime/source/flang/library.h | runtime/source/flang/extent.h) continue ;; # C++, half a minute
    esac
    [ -n "$clang" ] || [ "$header" != runtime/source/clang/priv.h ] || continue
    ${CC:-gcc} -std=c11 -Wundef -Wstrict-prototypes $flags -x c "$header" 2>&1 |
        report "$header alone as C11" || status=1
    folder=$(basename "$(dirname "$header")")
    [ "$(basename "$header")" = "$folder.h" ] || continue
    g++ -std=c++17 $flags -x c++ "$header" 2>&1 | report "$header alone as C++17" || status=1
    all="$all#include \"$header\"
"
done
echo "$all" | ${CC:-gcc} -std=c11 $flags -x c - 2>&1 | report "public headers as C11" || status=1
echo "$all" | g++ -std=c++17 $flags -x c++ - 2>&1 | report "public headers as C++17" || status=1
exit $status
