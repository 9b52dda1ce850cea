#!/bin/sh
# words.sh: paths and hosts of one machine, work left undone without an issue, words that do not belong in
# what people read (words.txt), sentences of more than 40 words in headers and documents, and commit
# subjects of more than 72 characters. (Brackets keep the patterns from finding themselves.)
#
# words_left.txt counts the offences left in each module, by kind; its numbers may only fall. `words.sh
# --count` prints the table as it should be, `words.sh --list [AREA]` all offences.
. tests/lint/lib.sh
status=0
all=$(files | grep -vE '^LICENSE$|\.(bin|png|json|safetensors)$')
[ -n "$all" ] || exit 0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
left=tests/lint/words_left.txt

files '*.c' '*.h' '*.md' | grep -v '^tests/fixtures/' | xargs awk -f tests/lint/texts.awk >"$work/texts" || exit 1
awk -f tests/lint/words.awk tests/lint/words.txt "$work/texts" >"$work/offences" || exit 1
cut -f1 "$work/offences" | sort | uniq -c | awk '{ print $2, $3, $1 }' >"$work/count"
case ${1:-} in
--count) cat "$work/count" && exit 0 ;;
--list) grep "^${2:-}" "$work/offences" && exit 0 ;;
esac

search() { # pattern message [exempt]
    grep -nIE "$1" $all /dev/null | grep -vE "^(${3:-:})" | report "$2" || status=1
}
search '(^|[^A-Za-z0-9_.])/([w]ork|[h]ome|[r]oot|[U]sers)/' 'path of one machine'
search '(^|[^A-Za-z0-9_.$}-])/[t]mp/' 'use a folder that was asked for (TMPDIR, build/)' tests/
search '[d]eb\.debian\.org|[p]ypi\.(org|io)|[p]ythonhosted|[n]pmjs|crates\.[i]o|[p]roxy\.golang' \
    'host of a package registry'
search '(^|[^A-Za-z0-9_])([T]ODO|[F]IXME|[X]XX|[H]ACK)($|[^A-Za-z0-9_(]|\([^#])' \
    'names no issue: [T]ODO(#12)'

# More offences than words_left.txt allows: those in changed files, which are most probably the new ones.
changed=$({ git diff --name-only HEAD -- && git ls-files -o --exclude-standard; } 2>/dev/null)
awk 'FILENAME == ARGV[1] { most[$1 " " $2] = $3; next }
     $3 > most[$1 " " $2] { print $1 " " $2, $3, most[$1 " " $2] + 0 }' "$left" "$work/count" |
    while read -r area kind n most; do
        echo "$area: $n offences in kind '$kind', words_left.txt allows $most"
        grep "^$area $kind	" "$work/offences" | cut -f2 >"$work/of"
        printf '%s\n' "$changed" | sed 's/$/:/' | grep -F -f - "$work/of" >"$work/new" || cp "$work/of" "$work/new"
        head -n 30 "$work/new"
    done | report 'plain words: words.txt' || status=1

# Numbers of earlier versions of the table bound those of today.
for commit in $(git log --first-parent -n 20 --format=%H -- "$left" 2>/dev/null); do
    git show "$commit:$left" 2>/dev/null
    echo END
done | awk '
    FNR == NR && $1 == "END" { for (k in seen) if (!(k in all) || all[k] > seen[k]) all[k] = seen[k]
        tables++; for (k in all) if (!(k in seen)) all[k] = 0; split("", seen); next }
    FNR == NR { seen[$1 " " $2] = $3; next }
    tables && $3 > all[$1 " " $2] + 0 {
        print FILENAME ":" FNR ": " $1 " " $2 " rises from " all[$1 " " $2] + 0 " to " $3
    }' - "$left" | report 'these numbers may only fall' || status=1

since=$(cat tests/lint/subjects_since)
if git merge-base --is-ancestor "$since" HEAD 2>/dev/null; then
    git log --no-merges --format='%h: %s' "$since..HEAD" | awk '{ subject = $0; sub(/^[^ ]* /, "", subject) }
        length(subject) > 72 { print $0 ": " length(subject) " characters" }' |
        report 'a commit subject has at most 72 characters' || status=1
fi
exit $status
