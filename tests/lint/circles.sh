#!/bin/sh
# circles.sh BUILD: no circles among the files of a folder of circle_free: each file can be read, and
# tested, after those that it depends on.
. tests/lint/lib.sh
build=$1
status=0

# Pairs "x y": file x of the folder includes a header of file y of the same folder.
includes() { # folder
    for file in "$1"/*.[ch]; do
        [ -f "$file" ] && sed -n "s|^[[:space:]]*# *include \"$1/\([^/\"]*\)\.h\".*|${file##*/} \1|p" "$file"
    done | sed 's/\.[ch] / /; s/_priv / /; s/_priv$//'
}
# The same: file x calls a function of file y.
calls() { # folder
    for file in "$1"/*.c; do
        [ ! -f "$build/${file%.c}.o" ] || nm -A -g "$build/${file%.c}.o"
    done | awk '{
        file = $1; sub(/\.o:.*/, "", file); sub(/.*\//, "", file)
        if ($(NF - 1) == "U") { n++; user[n] = file; used[n] = $NF } else home[$NF] = file
    }
    END { for (k = 1; k <= n; k++) if (used[k] in home) print user[k], home[used[k]] }' | sort -u
}

while read -r folder kinds; do
    case $folder in '#'* | '') continue ;; esac
    for kind in $kinds; do
        $kind "$folder" | tsort 2>&1 >/dev/null | awk -v folder="$folder" -v by="$kind" '
            /contains a loop/ { if (line) print line; line = folder ": circle by " by ":"; next }
            { line = line " " $2 }
            END { if (line) print line }' | report 'split a file' || status=1
    done
done <tests/lint/circle_free
exit $status
