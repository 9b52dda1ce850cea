# help.awk: prints the targets of makefiles by group, from lines "TARGET...: ... ## GROUP: TEXT".
BEGIN {
    n = split("build test style docs", order)
    title["build"] = "Build and install"
    title["test"] = "Test"
    title["style"] = "Style"
    title["docs"] = "Documentation"
}
/^[a-z][a-z -]*:[^=].*## / {
    targets = $0
    sub(/:.*/, "", targets)
    text = $0
    sub(/.*## /, "", text)
    group = text
    sub(/:.*/, "", group)
    sub(/^[^:]*: /, "", text)
    if (!(group in title)) {
        print FILENAME ":" FNR ": group '" group "' is not one of docs/help.awk" > "/dev/stderr"
        failed = 1
    }
    lines[group] = lines[group] sprintf("  %-12s  %s\n", targets, text)
}
END {
    for (k = 1; k <= n; k++) printf "%s:\n%s\n", title[order[k]], lines[order[k]]
    printf "Variables: CC=, VARIANT=release|debug|asan|tsan|fuzz, CUDA=auto|0|1, JOBS=, V=1\n"
    exit failed
}
