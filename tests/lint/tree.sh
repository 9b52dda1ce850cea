#!/bin/sh
# tree.sh: size of the files that git tracks, or would: at most 40,000,000 in all, and 21,500,000 in
# files over 100,000. Of both, 4,942,224 are the adapter of the default model. A clone must stay small,
# because large files stay in its history; sources may grow. pilot/README.md lists the large files.
. tests/lint/lib.sh
most=40000000 large=21500000
sizes=$(git ls-files -co --exclude-standard -z | xargs -0 -r stat -c '%s %n' 2>/dev/null)
printf '%s\n' "$sizes" | sort -rn | awk -v most=$most -v large=$large '
    { total += $1; if ($1 > 100000) sum += $1 }
    NR <= 3 { size = $1; sub(/^[0-9]+ /, ""); largest = largest (NR > 1 ? ", " : "") $0 " " size }
    END {
        if (total > most) print "tree: " total " bytes, at most " most "; largest: " largest
        if (sum > large) print "tree: " sum " bytes in large files, at most " large "; largest: " largest
    }' |
    report 'too large: use a denser encoding, or generate the file'
