/*
 * pragma_plain.c: a directive without its machine-dependent and stylistic clauses, as
 * training target.
 *
 * The input is the output of hpc_pragma_text: words separated by single blanks,
 * arguments in balanced parentheses. It does not check that clauses are compatible.
 */
#include "runtime/source/priv.h"

#include <string.h>
#include <strings.h>

static const char *const names[] = {"parallel",   "for",        "do",     "simd",     "target",
                                    "teams",      "distribute", "loop",   "taskloop", "sections",
                                    "concurrent", "tile",       "unroll", "ordered",  NULL};
static const char *const clauses[] = {"private",  "firstprivate", "lastprivate",
                                      "linear",   "reduction",    "schedule",
                                      "collapse", "sizes",        NULL};

static bool is_one_of(const char *const *list, const char *p, size_t n)
{
    for (; *list; list++)
        if (strlen(*list) == n && strncasecmp(*list, p, n) == 0) return true;
    return false;
}

/* Position after the parenthesis that closes the one at p, or the end of the line. */
static const char *behind(const char *p, const char *end)
{
    int depth = 0;
    for (; p < end; p++) {
        depth += *p == '(';
        depth -= *p == ')';
        if (*p == ')' && depth == 0) return p + 1;
    }
    return end;
}

/* What implementations do anyhow. */
static bool is_usual(const char *p, size_t n)
{
    static const char usual[] = "schedule(static)";
    return n == sizeof usual - 1 && strncasecmp(p, usual, n) == 0;
}

static int put_line(hpc_buf *out, const char *p, const char *end)
{
    int rc = HPC_OK, word = 0;
    while (p < end) {
        const char *q = p;
        while (q < end && *q != ' ' && *q != '(') q++;
        size_t n = (size_t)(q - p);
        const char *next = q < end && *q == '(' ? behind(q, end) : q;
        bool argument = next > q;
        /* "#pragma omp", or "!$omp" and the name's first word */
        bool kept = word < 2 || is_one_of(argument ? clauses : names, p, n);
        if (kept && !is_usual(p, (size_t)(next - p))) {
            if (word) TRY(hpc_buf_add(out, " ", 1));
            TRY(hpc_buf_add(out, p, (size_t)(next - p)));
        }
        word++;
        for (p = next; p < end && *p == ' ';) p++;
    }
out:
    return rc;
}

int hpc_pragma_plain(hpc_buf *out, const char *directive)
{
    int rc = HPC_OK;
    TRY(hpc_buf_text(out, "")); /* of nothing it is nothing */
    for (const char *p = directive; *p;) {
        const char *end = strchr(p, '\n');
        if (!end) end = p + strlen(p);
        TRY(put_line(out, p, end));
        if (*end == '\n') TRY(hpc_buf_add(out, end++, 1));
        p = end;
    }
out:
    return rc;
}
