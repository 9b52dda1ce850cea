#!/bin/sh
# link.sh BUILD: each room links with no more than the rooms that it may use, so that the linker
# itself refuses a call upward or sideways, whatever was or was not included.
. tests/lint/lib.sh
build=$1
status=0
mkdir -p "$build/lint"
archives() {
    for used in "$@"; do
        [ ! -f "$build/libhpc-$used.a" ] || echo "$build/libhpc-$used.a"
    done
}
while read -r room _ uses; do
    case $room in '#'* | '') continue ;; esac
    [ -f "$build/libhpc-$room.a" ] || continue
    main=
    [ "$room" != cmd ] || main=$(find "$build/cmd" -name main.o 2>/dev/null)
    ${CC:-gcc} -shared -pthread -Wl,--no-undefined \
        $main -Wl,--whole-archive "$build/libhpc-$room.a" -Wl,--no-whole-archive \
        -Wl,--start-group $(archives $uses) -Wl,--end-group -ljansson -lsqlite3 -lzstd \
        -lpcre2-8 -lutf8proc -lm -ldl \
        -o "$build/lint/$room.so" 2>&1 |
        grep -E 'undefined reference|multiple definition|cannot find|error' | head -n 20 |
        report "$room must link with: $uses" || status=1
done <tests/lint/rooms
exit $status
