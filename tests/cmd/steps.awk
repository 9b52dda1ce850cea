# steps.awk: the commands of a workflow of GitHub (key=run) or of a job of GitLab (key=script), so
# that a test can run them: awk -v key=run -v out=FOLDER -f steps.awk FILE.yml
#
# It writes FOLDER/1, FOLDER/2, ... in order, a line "# if: CONDITION" first where a step has one.
# It reads the YAML that these files are written in: "KEY: COMMAND", "KEY: |" with an indented
# block, and lists of both, "- COMMAND" and "- |".
function indent(line) { match(line, /^ */); return RLENGTH }
function begin() {
    file = out "/" ++n
    printf "%s", condition > file
    condition = ""
}
function one(text) { begin(); print text > file; close(file) }

block && (/^ *$/ || indent($0) > margin) {
    if (/^ *$/) { print "" > file; next }
    if (!depth) depth = indent($0)
    print substr($0, depth + 1) > file
    next
}
block { block = 0; close(file) }
/^ *- (name|uses):/ { condition = "" }
/^ *if: / { condition = $0; sub(/^ *if: /, "# if: ", condition); condition = condition "\n" }
list && /^ *- / && indent($0) > list_margin {
    text = $0; sub(/^ *- /, "", text)
    if (text == "|") { begin(); block = 1; depth = 0; margin = indent($0) }
    else one(text)
    next
}
{ list = 0 }
$0 ~ "^ *(- )?" key ":" {
    text = $0; sub("^ *(- )?" key ": *", "", text)
    if (text == "|") { begin(); block = 1; depth = 0; margin = indent($0) }
    else if (text == "") { list = 1; list_margin = indent($0) }
    else one(text)
}
