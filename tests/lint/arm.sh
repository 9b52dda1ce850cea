#!/bin/sh
# arm.sh: the product compiles for 64-bit Arm with the same warnings. Nothing is linked or run.
# jansson's headers say the same on every architecture, so copies of this machine's serve.
. tests/lint/lib.sh
cross=aarch64-linux-gnu-gcc
build=build/$cross
mkdir -p "$build/include"
echo '#include <jansson.h>' | ${CC:-gcc} -M -x c - | tr -s ' \\' '\n\n' | grep '/jansson' |
    while read -r header; do cp "$header" "$build/include/"; done
[ "$build/config.mk" -nt config.sh ] || CUDA=auto sh config.sh --none "$build" >/dev/null || exit 1
CPPFLAGS="-idirafter $build/include" make -k CC=$cross CUDA=auto objects >"$build/log" 2>&1 && exit
grep -E 'error|warning|\*\*\*' "$build/log" | head -n 40
exit 1
