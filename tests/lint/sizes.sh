#!/bin/sh
# sizes.sh: what stays short stays readable. Files have at most 600 lines, headers 300, the
# Makefile and its fragments 250, files of cmd 300, README.md 200 and 14,000 bytes, pages of docs/ 300;
# functions 80, and 120 in kernels. Lines have at most 100 columns.
# Functions are found by the formatter's shape: "{" and "}" alone in the first column.
. tests/lint/lib.sh
found_in=$(mktemp) || exit 1
trap 'rm -f "$found_in"' EXIT
files '*.c' '*.h' '*.cu' '*.cuh' Makefile '*.mk' | xargs -r awk '
    function is_make(file) { return file ~ /(^Makefile|\.mk)$/ }
    function limit_of(file) {
        if (is_make(file)) return 250
        if (file ~ /^cmd\/.*\.c$/) return 300
        return file ~ /\.(h|cuh)$/ ? 300 : 600
    }
    function finish() {
        if (file != "" && lines > limit_of(file))
            print file ":" lines ": " lines " lines, at most " limit_of(file)
    }
    FNR == 1 {
        finish()
        file = FILENAME; start = 0
        most = file ~ /^runtime\/device\/(cpu\/kernels|ref)\// ? 120 : 80
        opening = 1
    }
    { lines = FNR }
    FNR == 1 && !is_make(file) && !/^\/\*/ { print file ":1: says not what it is for" }
    !is_make(file) && length($0) > 100 { wide = $0; gsub(/[\200-\277]/, "", wide) }
    !is_make(file) && length($0) > 100 && length(wide) > 100 {
        print file ":" FNR ": " length(wide) " columns, at most 100"
    }
    /^[A-Za-z].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
    /^\{$/ { start = FNR }
    /^\}/ && start {
        if (FNR - start + 1 > most)
            print file ":" start ": " name " has " FNR - start + 1 " lines, at most " most
        start = 0
    }
    END { finish() }' >"$found_in"
files README.md 'docs/*.md' | while read -r file; do
    most=300
    [ "$file" != README.md ] || most=200
    awk -v most=$most 'END { if (NR > most) print FILENAME ":" NR ": " NR " lines, at most " most }' "$file"
    n=$(wc -c <"$file")
    [ "$file" != README.md ] || [ "$n" -le 14000 ] || echo "$file:1: $n bytes, at most 14000"
done >>"$found_in"
report 'too long' <"$found_in"
