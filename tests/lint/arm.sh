#!/bin/sh
# arm.sh: the product compiles for 64-bit Arm with the same warnings. Nothing is linked or run.
# These libraries' headers say the same on every architecture, so copies of this machine's serve.
. tests/lint/lib.sh
cross=aarch64-linux-gnu-gcc
build=build/$cross
mkdir -p "$build/include"
for library in jansson git2 sqlite3 zstd pcre2 utf8proc xxhash; do
    echo "#include <$library.h>" | ${CC:-gcc} -DPCRE2_CODE_UNIT_WIDTH=8 -M -x c - |
        tr -s ' \\' '\n\n' | grep -E '/(jansson|git2|sqlite3|zstd|pcre2|utf8proc|xxhash|xxh3)[^ ]*\.h$' |
        while read -r header; do
            copy=$build/include/$(echo "$header" | sed 's,.*/include/,,; s,.*linux-gnu/,,')
            mkdir -p "$(dirname "$copy")" && cp "$header" "$copy"
        done
done
[ "$build/config.mk" -nt config.sh ] || CUDA=auto sh config.sh --none "$build" >/dev/null || exit 1
CPPFLAGS="-idirafter $build/include" make -k CC=$cross CUDA=auto objects >"$build/log" 2>&1 && exit
grep -E 'error|warning|\*\*\*' "$build/log" | head -n 40
exit 1
