/*
 * Labels of loops with known truth, and the comparison of verdicts and clauses with them.
 */
#include "eval/label.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Does a text contain a name as a word? */
static bool speaks_of(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)) != NULL; p++)
        if ((p == text || !is_word(p[-1])) && !is_word(p[n])) return true;
    return false;
}

/* Reads the names in the parentheses after `kind`: pairs, or single names, which are stored twice.
 */
static void read_names(hpc_eval_label *l, const char *text, const char *kind, bool single)
{
    for (const char *p = text; (p = strstr(p, kind)) != NULL;) {
        p += strlen(kind);
        while (*p && *p != ')' && l->names_n + single < HPC_EVAL_LABEL_NAMES) {
            size_t n = 0;
            while (*p && (*p == ' ' || *p == ',')) p++;
            char *out = l->name[l->names_n];
            while (is_word(*p) && n < 39) out[n++] = *p++;
            out[n] = '\0';
            if (n && single) memcpy(l->name[l->names_n + 1], out, n + 1);
            if (n) l->names_n += 1 + single;
            while (*p && *p != ',' && *p != ')') p++; /* s->x: the variable suffices */
        }
    }
}

/* Reads the arrays of injective(e): e is a name, or arrays in arrays. An operator within it needs
 * more than a property of arrays. */
static void read_index(hpc_eval_label *l, const char *text)
{
    const char *p = strstr(text, "injective("), *end = p ? strchr(p, ')') : NULL;
    if (!end) return;
    p += strlen("injective(");
    const bool single = !memchr(p, '[', (size_t)(end - p));
    while (p < end && l->index_n < HPC_EVAL_LABEL_NAMES) {
        size_t n = 0;
        if (strchr("/%*+-.&|", *p)) l->index_n = 0;
        if (strchr("/%*+-.&|", *p)) return;
        while (p + n < end && is_word(p[n])) n++;
        if (n > 0 && n < 40 && (single || p[n] == '['))
            snprintf(l->index[l->index_n++], sizeof *l->index, "%.*s", (int)n, p);
        p += n > 0 ? n : 1;
    }
}

/* Reads the names of violates(p, q). */
static void read_violated(hpc_eval_label *l, const char *text)
{
    const char *p = strstr(text, "violates(");
    if (!p) return;
    for (p += strlen("violates("); *p && *p != ')';) {
        size_t n = 0;
        while (is_word(p[n])) n++;
        if (n > 0 && n < 40 && l->violated_n < HPC_EVAL_LABEL_NAMES)
            snprintf(l->violated[l->violated_n++], sizeof *l->violated, "%.*s", (int)n, p);
        p += n > 0 ? n : 1;
    }
}

/* Reads the clauses of a label: OpenMP words with parentheses. */
static void read_clauses(hpc_eval_label *l, const char *text)
{
    static const char *const known[] = {"private(", "lastprivate(", "firstprivate(", "reduction(",
                                        "linear("};
    for (const char *p = text; *p && *p != ';'; p++) {
        if (p > text && p[-1] != ' ') continue;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            if (strncmp(p, known[k], strlen(known[k])) != 0) continue;
            const char *end = strchr(p, ')');
            if (!end) continue;
            size_t at = strlen(l->clauses);
            snprintf(l->clauses + at, sizeof l->clauses - at, " %.*s", (int)(end + 1 - p), p);
        }
    }
}

static bool has_fact(const char *text, const char *fact)
{
    const char *p = strchr(text, ';');
    return p && speaks_of(p, fact);
}

/* False if it has no verdict. */
static bool read_label(hpc_eval_label *l, const char *text)
{
    const char *colon = strchr(text, ':');
    if (!colon || colon[1] != ' ') return false;
    snprintf(l->name_of_loop, sizeof l->name_of_loop, "%.*s", (int)(colon - text), text);
    const char *what = colon + 2;
    snprintf(l->text, sizeof l->text, "%s", what);
    l->truth = strncmp(what, "safe", 4) == 0      ? HPC_TRUTH_SAFE
               : strncmp(what, "if ", 3) == 0     ? HPC_TRUTH_IF
               : strncmp(what, "carried", 7) == 0 ? HPC_TRUTH_CARRIED
                                                  : HPC_TRUTH_UNKNOWN;
    if (l->truth == HPC_TRUTH_IF) {
        read_names(l, what, "distinct(", false);
        read_names(l, what, "open(", true);
    }
    read_clauses(l, what);
    l->noncanonical = has_fact(what, "noncanonical");
    l->local = has_fact(what, "local");
    l->small = has_fact(what, "small");
    l->injective = l->truth == HPC_TRUTH_IF && strstr(what, "injective(");
    if (l->injective) read_index(l, what);
    if (l->truth == HPC_TRUTH_CARRIED) read_violated(l, what);
    return true;
}

/* A label belongs to the loop on the next line that is neither comment nor pragma. */
int hpc_eval_labels_read(hpc_eval_labels *out, const char *source, const char *path)
{
    uint32_t line = 1;
    bool waiting = false;
    int rc = HPC_OK;

    for (const char *p = source; *p; line++) {
        size_t n = strcspn(p, "\n");
        char text[400];
        snprintf(text, sizeof text, "%.*s", (int)n, p);
        const char *at = text + strspn(text, " \t");
        if (strncmp(at, "// loop ", 8) == 0) {
            TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof(*out->item)));
            out->item[out->n] = (hpc_eval_label){0};
            if (!read_label(&out->item[out->n], at + 8))
                TRY(hpc_fail(HPC_E_FORMAT, "%s:%u: expected '// loop NAME: VERDICT'", path, line));
            waiting = true;
        } else if (waiting && at[0] != '#' && strncmp(at, "//", 2) != 0) {
            out->item[out->n++].line = line;
            waiting = false;
        }
        p += n + (p[n] == '\n');
    }
out:
    return rc;
}

/* ---- clauses ----------------------------------------------------------------------------------
 */

/* Do the clauses contain "kind(... name ...)", with an optional modifier? */
static bool has_clause(const char *clauses, const char *kind, const char *name)
{
    char open[64];
    snprintf(open, sizeof open, "%s(", kind);
    for (const char *p = clauses; (p = strstr(p, open)) != NULL; p += strlen(open)) {
        if (p > clauses && p[-1] != ' ') continue;
        const char *end = strchr(p, ')');
        char inside[200];
        if (!end) return false;
        snprintf(inside, sizeof inside, "%.*s", (int)(end - p - (long)strlen(open)),
                 p + strlen(open));
        if (speaks_of(inside, name)) return true;
    }
    return false;
}

/* Is each name of each clause of a in a clause of the same kind of b? */
static bool clauses_within(const char *a, const char *b)
{
    static const char *const kinds[] = {"private", "lastprivate", "reduction", "linear"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char open[64];
        snprintf(open, sizeof open, "%s(", kinds[k]);
        for (const char *p = a; (p = strstr(p, open)) != NULL;) {
            bool starts = p == a || p[-1] == ' ';
            p += strlen(open);
            if (!starts) continue;
            const char *end = strchr(p, ')'), *colon = strchr(p, ':');
            const char *q = colon && end && colon < end && k > 0 && k != 3 ? colon + 1 : p;
            while (q < end) {
                char name[64];
                size_t n = 0;
                while (q < end && !is_word(*q)) q++;
                while (q < end && is_word(*q) && n < 63) name[n++] = *q++;
                name[n] = '\0';
                while (q < end && *q != ',') q++;
                bool stepped = k == 3 && has_clause(b, "private", name); /* and computed */
                if (n && !stepped && !has_clause(b, kinds[k], name)) return false;
            }
        }
    }
    return true;
}

bool hpc_eval_clauses_same(const char *pragma, const char *wanted)
{
    if (strstr(pragma, " linear(")) return clauses_within(pragma, wanted);
    return clauses_within(pragma, wanted) && clauses_within(wanted, pragma);
}

/* ---- verdicts ---------------------------------------------------------------------------------
 */

/* Names within KIND(A, B): each must be spoken of by one assumption. */
static bool assumptions_cover(const hpc_pragma_loop *l, const hpc_eval_label *want)
{
    for (int64_t i = 0; i < want->names_n; i += 2) {
        bool spoken = false;
        for (int64_t k = 0; k < l->assumptions_n && !spoken; k++)
            spoken =
                speaks_of(l->assumption[k].text, want->name[i]) &&
                (i + 1 >= want->names_n || speaks_of(l->assumption[k].text, want->name[i + 1]));
        if (!spoken) return false;
    }
    return true;
}

/* Each array of injective(): an assumption says that it has no repeated entry. */
static bool assumes_distinct(const hpc_pragma_loop *l, const hpc_eval_label *want)
{
    for (int64_t i = 0; i < want->index_n; i++) {
        bool spoken = false;
        for (int64_t k = 0; k < l->assumptions_n && !spoken; k++)
            spoken = strstr(l->assumption[k].text, "repeated entry") &&
                     speaks_of(l->assumption[k].text, want->index[i]);
        if (!spoken) return false;
    }
    return want->index_n > 0;
}

bool hpc_eval_label_lists_violated(const hpc_pragma_loop *l, const hpc_eval_label *want)
{
    for (int64_t k = 0; k < l->assumptions_n; k++) {
        int64_t n = 0;
        while (n < want->violated_n && speaks_of(l->assumption[k].text, want->violated[n])) n++;
        if (n > 0 && n == want->violated_n) return true;
    }
    return false;
}

bool hpc_eval_label_is_wrong(const hpc_pragma_loop *l, const hpc_eval_label *want)
{
    bool positive = l->verdict >= HPC_VERDICT_CONDITIONAL;
    if (!positive) return false;
    if (want->truth == HPC_TRUTH_CARRIED)
        return l->verdict == HPC_VERDICT_PARALLEL || !hpc_eval_label_lists_violated(l, want);
    if (want->truth == HPC_TRUTH_UNKNOWN) return true;
    if (want->noncanonical || want->local) return true;
    if (want->injective && !assumes_distinct(l, want)) return true;
    if (want->truth == HPC_TRUTH_IF)
        return l->verdict == HPC_VERDICT_PARALLEL || !assumptions_cover(l, want);
    return false;
}

bool hpc_eval_label_counts(const hpc_eval_label *want)
{
    if (want->noncanonical || want->local || want->injective) return false;
    return want->truth == HPC_TRUTH_SAFE || want->truth == HPC_TRUTH_IF;
}
