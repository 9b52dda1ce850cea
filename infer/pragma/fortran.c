/*
 * fortran.c: see fortran.h.
 */
#include "infer/pragma/fortran.h"

#include <ctype.h>
#include <string.h>

typedef struct pair {
    const char *c, *fortran;
} pair;

/* Longer texts first. */
static const pair words[] = {{"#pragma omp ", "!$omp "},
                             {"parallel for", "parallel do"},
                             {"reduction(&&:", "reduction(.and.:"},
                             {"reduction(||:", "reduction(.or.:"},
                             {"reduction(&:", "reduction(iand:"},
                             {"reduction(|:", "reduction(ior:"},
                             {"reduction(^:", "reduction(ieor:"},
                             {" && ", " .and. "},
                             {" || ", " .or. "},
                             {" != ", " /= "}};

static const pair read_words[] = {{"#pragma omp", "!$omp"}, {" for", " do"}, {"&&", ".and."},
                                  {"||", ".or."},           {"&:", "iand:"}, {"|:", "ior:"},
                                  {"^:", "ieor:"}};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

const char *fortran_as_c(hpc_arena *a, const char *directive)
{
    hpc_buf b = {0}, low = {0};
    hpc_buf_text(&low, directive);
    for (size_t k = 0; k < low.n; k++) low.data[k] = (char)tolower((unsigned char)low.data[k]);
    for (const char *p = low.failed ? "" : low.data; *p;) {
        size_t k = 0;
        const size_t n = sizeof read_words / sizeof *read_words;
        while (k < n && !begins(p, read_words[k].fortran)) k++;
        /* " do" is a word of its own */
        if (k < n && read_words[k].c[0] == ' ' && (isalnum((unsigned char)p[3]) || p[3] == '_'))
            k = n;
        if (k < n)
            hpc_buf_text(&b, read_words[k].c);
        else
            hpc_buf_add(&b, p, 1);
        p += k < n ? strlen(read_words[k].fortran) : 1;
    }
    const char *out = b.failed || low.failed ? NULL : hpc_arena_text(a, "%s", b.data);
    hpc_buf_release(&b);
    hpc_buf_release(&low);
    return out;
}

/* "!$" after blanks, and in fixed form "c$" or "*$" in the first columns. A directive has a letter
 * after it. */
static bool is_conditional(const char *line, const char *end)
{
    const char *p = line + (line < end && strchr("cC*", *line) ? 0 : strspn(line, " \t"));
    return end - p > 2 && strchr("!cC*", *p) && p[1] == '$' && strchr(" \t&0123456789", p[2]);
}

bool fortran_has_conditional(const char *text, size_t from, size_t to)
{
    for (const char *p = text + from, *end = text + to; p && p < end;) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (p && is_conditional(++p, end)) return true;
    }
    return false;
}

/* The operand of "(long long)n", a name or a number in parentheses; NULL: another text. */
static const char *widened(const char *p, size_t *n)
{
    static const char cast[] = "(long long)";
    int depth = 0;
    *n = 0;
    if (!begins(p, cast)) return NULL;
    p += sizeof cast - 1;
    if (*p == '(') {
        do {
            depth += p[*n] == '(' ? 1 : p[*n] == ')' ? -1 : 0;
            ++*n;
        } while (depth > 0 && p[*n]);
    } else {
        while (isalnum((unsigned char)p[*n]) || p[*n] == '_') ++*n;
    }
    return *n > 0 && depth == 0 ? p : NULL;
}

/* Names, numbers, operators and casts that both languages have: no subscript, pointer or field. */
static bool can_spell(const char *condition)
{
    size_t n;
    for (const char *p = condition; *p; p++) {
        if (widened(p, &n)) {
            p = strchr(p, ')');
            continue;
        }
        if (strchr("[]{}!%\"'.~^?", *p) && !begins(p, "!= ")) return false;
        if (begins(p, "->") || begins(p, "::") || begins(p, "(const") || begins(p, "(int") ||
            begins(p, "(long") || begins(p, "(size_t") || begins(p, "(unsigned"))
            return false;
        if (*p == '&' && !begins(p, "&& ") && !(p > condition && p[-1] == '&')) return false;
        if (*p == '|' && !begins(p, "|| ") && !(p > condition && p[-1] == '|')) return false;
        if (isdigit((unsigned char)*p) && isalpha((unsigned char)p[1])) return false; /* 4L */
    }
    return true;
}

void fortran_limit(hpc_pragma_loops *l)
{
    for (int64_t k = 0; k < l->n; k++) {
        hpc_pragma_loop *x = &l->item[k];
        if (x->guard && !can_spell(x->guard)) x->guard = NULL;
        if (!x->least || can_spell(x->least)) continue;
        x->least = NULL;
        if (!x->idle) x->idle = "no if clause can test its unknown trip count";
    }
}

/* *out becomes NULL if Fortran cannot spell it. */
static int translate(const char **out, hpc_arena *a)
{
    hpc_buf b = {0};
    int rc;
    if (!*out) return HPC_OK;
    const bool odd = strchr(*out, '[') || strstr(*out, "(conditional:");
    for (const char *p = odd ? "" : *out; *p;) {
        size_t k = 0, n;
        const char *operand = widened(p, &n);
        if (operand) { /* a kind of 64 bits */
            const size_t skip = *operand == '(';
            hpc_buf_printf(&b, "int(%.*s, 8)", (int)(n - 2 * skip), operand + skip);
            p = operand + n;
            continue;
        }
        while (k < sizeof words / sizeof *words && !begins(p, words[k].c)) k++;
        const bool found = k < sizeof words / sizeof *words;
        hpc_buf_add(&b, found ? words[k].fortran : p, found ? strlen(words[k].fortran) : 1);
        p += found ? strlen(words[k].c) : 1;
    }
    rc = b.failed;
    if (rc >= 0) *out = odd ? NULL : hpc_arena_text(a, "%s", b.data);
    if (rc >= 0 && !odd && !*out) rc = HPC_E_NOMEM;
    hpc_buf_release(&b);
    return rc;
}

int hpc_pragma_translate(hpc_pragma_loops *l)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < l->n; k++) {
        hpc_pragma_loop *x = &l->item[k];
        TRY(translate(&x->pragma, l->arena));
        TRY(translate(&x->plain, l->arena));
        TRY(translate(&x->vector, l->arena));
        TRY(translate(&x->least, l->arena));
        for (int64_t i = 0; i < x->assumptions_n; i++) {
            const char **check = &x->assumption[i].check;
            if (*check && can_spell(*check)) TRY(translate(check, l->arena));
        }
    }
out:
    return rc;
}

void hpc_pragma_lines(hpc_buf *out, const char *indent, size_t indent_n, const char *directive,
                      bool fixed, const char *eol)
{
    enum { FIXED_COLUMNS = 72, FREE_COLUMNS = 100 };
    static const char sentinel[] = "!$omp";
    const char *p = directive + sizeof sentinel; /* and a blank */
    const size_t most = fixed ? FIXED_COLUMNS : FREE_COLUMNS;
    if (fixed) indent_n = 0;
    for (bool first = true; *p; first = false) {
        const size_t head = indent_n + sizeof sentinel + !first;
        size_t n = strlen(p), cut = n;
        if (head + n + 2 > most) {
            cut = head + 12 < most ? most - head - 2 : 10;
            if (cut > n) cut = n;
            for (size_t k = cut; k > 0 && cut < n; k--)
                if (p[k - 1] == ' ') {
                    cut = k;
                    break;
                }
        }
        hpc_buf_add(out, indent, indent_n);
        hpc_buf_printf(out, "%s%s%.*s%s%s", sentinel,
                       first   ? " "
                       : fixed ? "& "
                               : " ",
                       (int)cut, p, cut < n && !fixed ? " &" : "", eol);
        p += cut;
    }
}
