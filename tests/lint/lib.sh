# lib.sh: what the lint scripts share. They run in the root of the tree, print "FILE:LINE: what is
# wrong" for each violation and exit with 1 if there was one.
set -u
export LC_ALL=C
unset MAKEFLAGS MFLAGS MAKELEVEL

# A tree that belongs to another user (a container's mount) is still ours to read.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git ls-files >/dev/null || exit 1

# Files of ours that match the given git patterns: tracked, or new and not ignored. What a model goes on
# with is begun and not finished.
files() {
    git ls-files -co --exclude-standard -- "$@" ':!pilot/demo.c' | sort -u | while read -r file; do
        [ -f "$file" ] && echo "$file"
    done
}

# The C files of the product, tests aside.
product() {
    files '*.c' '*.h' | grep -vE '^(tests|examples)/'
}

# FILE:LINE:TEXT of code: comments removed and strings emptied, so that only code is searched.
code() { # files
    for file in "$@"; do
        gcc -fpreprocessed -dD -E -x c "$file" 2>/dev/null | awk -v file="$file" '
            /^# [0-9]+ "/ { line = $2 - 1; next }
            { line++; gsub(/"([^"\\]|\\.)*"/, "\"\""); if ($0 != "") print file ":" line ":" $0 }'
    done
}

# Prints what comes in, preceded by a heading; fails if there was anything.
report() { # what is wrong
    found=$(cat)
    [ -z "$found" ] && return 0
    printf '%s\n' "$found" | while IFS= read -r line; do printf '%s    <- %s\n' "$line" "$1"; done
    return 1
}
