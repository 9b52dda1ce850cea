#!/bin/sh
# tree.sh: size of the files that git tracks, or would: at most 32,000,000 bytes. A clone must stay
# small, because large files stay in its history. pilot/README.md lists the large ones.
. tests/lint/lib.sh
most=32000000
sizes=$(git ls-files -co --exclude-standard -z | xargs -0 -r stat -c '%s %n' 2>/dev/null)
printf '%s\n' "$sizes" | sort -rn | awk -v most=$most '
    { total += $1 }
    NR <= 3 { size = $1; sub(/^[0-9]+ /, ""); largest = largest (NR > 1 ? ", " : "") $0 " " size }
    END { if (total > most) print "tree: " total " bytes, at most " most "; largest: " largest }' |
    report 'too large: use a denser encoding, or generate the file'
