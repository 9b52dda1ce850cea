# words.awk: offences against words.txt in the texts of texts.awk: AREA KIND TAB FILE:LINE: MATCH: REASON.
# Usage: awk -f words.awk words.txt TEXTS. Sentences of more than 40 words count in headers and documents.
function border(pattern) {
    gsub(/\\</, "(^|[^a-z0-9_])", pattern)
    gsub(/\\>/, "($|[^a-z0-9_])", pattern)
    return pattern
}
function area_of(file, part) {
    if (file ~ /\.md$/) return "docs"
    split(file, part, "/")
    return part[1] == "runtime" ? part[1] "/" part[2] : part[1]
}
function offence(what) {
    print area_of(file) " " kind "\t" at ": " what
}
function long_sentences(t, n, i, part, word, words) {
    gsub(/(e\.g|i\.e|vs|etc)\./, "", t)
    n = split(t, part, /[.!?]+( |$)|:$/)
    for (i = 1; i <= n; i++) {
        gsub(/^[ \t]+|[ \t]+$/, "", part[i])
        words = split(part[i], word, /[ \t]+/)
        if (words > 40) offence("a sentence of " words " words, at most 40: " substr(part[i], 1, 50))
    }
}
FNR == NR {
    if ($0 ~ /^(#|$)/) next
    split($0, field, / \| | \|$/)
    kinds[++patterns] = field[1]
    pattern[patterns] = border(field[2])
    reason[patterns] = field[3]
    exempt[patterns] = field[4]
    next
}
FNR == 1 { FS = "\t"; $0 = $0 }
{
    kind = $1
    at = $2
    file = at
    sub(/:[0-9]+$/, "", file)
    lower = tolower($3)
    sub(/^ +/, "", lower)
    sub(/ +$/, "", lower)
    letter = substr(kind, 1, 1)
    if (kind == "text" && file ~ /^tests\//) next
    for (i = 1; i <= patterns; i++) {
        if (!match(lower, pattern[i]) || index(kinds[i], kind == "doc" ? "d" : letter) == 0) continue
        found = substr(lower, RSTART, RLENGTH)
        if (exempt[i] != "" && (file ": " lower) ~ exempt[i]) continue
        offence("\"" found "\": " reason[i])
    }
    if (kind == "header" || kind == "doc") long_sentences($3)
}
