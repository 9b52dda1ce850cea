#!/bin/sh
# tidy.sh BUILD: clang-tidy on the product's sources, with checks that find bugs rather than taste.
#
# The analyzer follows 10,000 states of a function, which takes a tenth of the time of its
# own 225,000; HPC_LINT_DEEP=1 gives it those.
. tests/lint/lib.sh
build=$1

# Left out: what the compilers' own warnings cover, what fires on plain arithmetic between extents
# and sizes, on int8_t, on arrays of pointers and on every va_list, and the analyzer's advice
# against memcpy and snprintf; and the checker of MPI, since whoever holds a request waits for it.
checks='-*,clang-analyzer-*,bugprone-*,misc-redundant-expression,misc-static-assert'
checks="$checks,readability-misleading-indentation"
checks="$checks,readability-inconsistent-declaration-parameter-name"
for check in bugprone-easily-swappable-parameters bugprone-narrowing-conversions \
    bugprone-branch-clone bugprone-implicit-widening-of-multiplication-result \
    bugprone-assignment-in-if-condition bugprone-macro-parentheses bugprone-reserved-identifier \
    bugprone-integer-division bugprone-signed-char-misuse bugprone-sizeof-expression \
    bugprone-not-null-terminated-result clang-analyzer-valist.Uninitialized \
    clang-analyzer-optin.mpi.MPI-Checker 'clang-analyzer-security.insecureAPI.*'; do
    checks="$checks,-$check"
done
case $(uname -m) in
x86_64) isa='-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl' ;;
*) isa= ;;
esac

depth='-Xclang -analyzer-config -Xclang max-nodes=10000'
[ -z "${HPC_LINT_DEEP:-}" ] || depth=

vendors=$(sed -n 's/^FLAGS_[a-z]* := //p' "$build/config.mk" 2>/dev/null | tr '\n' ' ')

tidy() { # compiler flags; files on standard input
    xargs -r -P "$(nproc)" -n 4 sh -c 'checks=$1 flags=$2; shift 2
        clang-tidy-14 --quiet --warnings-as-errors="*" -checks="$checks" "$@" -- $flags 2>&1' \
        tidy "$checks" \
        "-std=c11 -I. -I$build $vendors -D_GNU_SOURCE -include tests/lint/analyzer.h $depth $1"
}
{
    product | grep '\.c$' | grep -v '^runtime/device/cpu/kernels/' | tidy ''
    echo "status $?"
    product | grep '\.c$' | grep '^runtime/device/cpu/kernels/' | tidy "$isa -DHPC_ISA_NAME=base -DHPC_WIDTH_NAME=base"
    echo "status $?"
} | awk '
    /^[0-9]+ warnings? / || /^Suppressed / || /^Use -header-filter/ { next }
    /^status/ { worst = worst || $2; next }
    { print }
    END { exit worst }'
