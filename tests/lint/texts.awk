# texts.awk: what people read in C files and Markdown, one text a line: KIND TAB FILE:LINE TAB TEXT.
# Kinds: text (string literals, adjacent ones joined), opening (the first comment of a source file),
# header (comments of a header), comment (all others), doc (paragraphs and list items of Markdown).
function flush_text() {
    if (text != "") emit("text", text_at, text)
    text = ""
}
function emit(kind, at, t) {
    gsub(/\\n/, " ", t)
    gsub(/\\"/, "\"", t)
    gsub(/[ \t]+/, " ", t)
    print kind "\t" current ":" at "\t" t
}
function flush_comment(kind) {
    kind = current ~ /\.h$/ ? "header" : comments++ ? "comment" : "opening"
    emit(kind, comment_at, comment)
    comment = ""
}
function flush_doc() {
    if (doc != "") emit("doc", doc_at, doc)
    doc = ""
}
function markdown(line) {
    if (line ~ /^ *```/) fenced = !fenced
    if (fenced || line ~ /^( *```|    |[|#]|$)/) { flush_doc(); return }
    if (line ~ /^ *([-*]|[0-9]+[.]) /) flush_doc()
    if (doc == "") doc_at = FNR
    gsub(/`[^`]*`/, "`code`", line)
    doc = doc " " line
}
# The rest of a line of C, piece by piece.
function c_line(line, n) {
    while (line != "") {
        if (inside) { # a comment
            n = index(line, "*/")
            part = n ? substr(line, 1, n - 1) : line
            sub(/^[ \t]*\*+[ \t]?/, "", part)
            comment = comment " " part
            if (!n) return
            line = substr(line, n + 2)
            inside = 0
            flush_comment()
        } else if (match(line, /^[ \t]+/) || match(line, /^\\$/)) {
            line = substr(line, RLENGTH + 1)
        } else if (match(line, /^"([^"\\]|\\.)*"/)) {
            if (text == "") text_at = FNR
            text = text substr(line, 2, RLENGTH - 2)
            line = substr(line, RLENGTH + 1)
        } else if (substr(line, 1, 2) == "/*") {
            inside = 1
            comment_at = FNR
            line = substr(line, 3)
        } else if (match(line, /^PRI[a-zA-Z0-9]+/)) {
            text = text "N"
            line = substr(line, RLENGTH + 1)
        } else {
            flush_text()
            if (!match(line, /^'([^'\\]|\\.)[^']*'/) && !match(line, /^[^"'\/P]+/)) RLENGTH = 1
            line = substr(line, RLENGTH + 1)
        }
    }
}
FNR == 1 {
    flush_text(); flush_doc()
    inside = comments = fenced = 0
    comment = ""
    current = FILENAME
}
FILENAME ~ /\.md$/ { markdown($0); next }
/^[ \t]*#[ \t]*include/ { next }
{ c_line($0) }
END { flush_text(); flush_doc() }
