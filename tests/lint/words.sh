#!/bin/sh
# words.sh: what no committed file says: paths and hosts of the machine that it was written on, and
# work left undone without an issue. (Brackets keep the patterns from finding themselves.)
. tests/lint/lib.sh
status=0
all=$(files | grep -vE '^LICENSE$|\.(bin|png|json|safetensors)$')
[ -n "$all" ] || exit 0
search() { # pattern message [exempt]
    grep -nIE "$1" $all /dev/null | grep -vE "^(${3:-:})" | report "$2" || status=1
}
search '(^|[^A-Za-z0-9_.])/([w]ork|[h]ome|[r]oot|[U]sers)/' 'path of one machine'
search '(^|[^A-Za-z0-9_.$}-])/[t]mp/' 'use a folder that was asked for (TMPDIR, build/)' tests/
search '[d]eb\.debian\.org|[p]ypi\.(org|io)|[p]ythonhosted|[n]pmjs|crates\.[i]o|[p]roxy\.golang' \
    'host of a package registry'
search '(^|[^A-Za-z0-9_])([T]ODO|[F]IXME|[X]XX|[H]ACK)($|[^A-Za-z0-9_(]|\([^#])' \
    'names no issue: [T]ODO(#12)'
exit $status
