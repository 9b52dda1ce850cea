/*
 * suite.h: reads the files of labelled loops (tests/pragma/loops/README.md) and analyses them.
 */
#ifndef HPC_TESTS_PRAGMA_SUITE_H
#define HPC_TESTS_PRAGMA_SUITE_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "infer/pragma/pragma.h"
#include "tests/source/check.h"

typedef enum truth { TRUTH_SAFE, TRUTH_IF, TRUTH_CARRIED, TRUTH_UNKNOWN } truth;
enum { NAMES_MOST = 16, LABELS_MOST = 400 };
typedef struct label {
    uint32_t line; /* of the loop */
    truth truth;
    char name_of_loop[80], text[300], clauses[200];
    char name[NAMES_MOST][40]; /* names of `if distinct(p, q)`, in pairs */
    int64_t names_n;
    bool noncanonical, local, small;
    bool injective; /* safe only if an index read from memory never repeats */
} label;

typedef struct suite_file {
    hpc_buf text;
    hpc_tree tree;
    hpc_tree_source *source;
    hpc_pragma_loops loops;
    label label[LABELS_MOST];
    int64_t labels_n;
} suite_file;

static inline bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Does a text contain a name as a word? */
static inline bool speaks_of(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)) != NULL; p++)
        if ((p == text || !is_word(p[-1])) && !is_word(p[n])) return true;
    return false;
}

/* Reads the names in the parentheses after `kind`. Names of distinct() come in pairs; others are
 * checked against any assumption. */
static inline void read_names(label *l, const char *text)
{
    for (const char *p = text; (p = strstr(p, "distinct(")) != NULL;) {
        p += 9;
        while (*p && *p != ')' && l->names_n < NAMES_MOST) {
            size_t n = 0;
            while (*p && (*p == ' ' || *p == ',')) p++;
            char *out = l->name[l->names_n];
            while (is_word(*p) && n < 39) out[n++] = *p++;
            out[n] = '\0';
            if (n) l->names_n++;
            while (*p && *p != ',' && *p != ')') p++; /* s->x: the variable suffices */
        }
    }
}

/* Reads the clauses of a label: OpenMP words with parentheses. */
static inline void read_clauses(label *l, const char *text)
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

static inline bool has_fact(const char *text, const char *fact)
{
    const char *p = strchr(text, ';');
    return p && speaks_of(p, fact);
}

static inline void read_label(label *l, const char *text)
{
    const char *colon = strchr(text, ':');
    assert_non_null(colon);
    snprintf(l->name_of_loop, sizeof l->name_of_loop, "%.*s", (int)(colon - text), text);
    const char *what = colon + 2;
    snprintf(l->text, sizeof l->text, "%s", what);
    l->truth = strncmp(what, "safe", 4) == 0      ? TRUTH_SAFE
               : strncmp(what, "if ", 3) == 0     ? TRUTH_IF
               : strncmp(what, "carried", 7) == 0 ? TRUTH_CARRIED
                                                  : TRUTH_UNKNOWN;
    if (l->truth == TRUTH_IF) read_names(l, what);
    read_clauses(l, what);
    l->noncanonical = has_fact(what, "noncanonical");
    l->local = has_fact(what, "local");
    l->small = has_fact(what, "small");
    l->injective = l->truth == TRUTH_IF && strstr(what, "injective(");
}

/* A label belongs to the loop on the next line that is neither comment nor pragma. */
static inline void read_labels(suite_file *f)
{
    uint32_t line = 1;
    bool waiting = false;
    for (char *p = f->text.data; *p;) {
        char *end = strchr(p, '\n');
        size_t n = end ? (size_t)(end - p) : strlen(p);
        char text[400];
        snprintf(text, sizeof text, "%.*s", (int)n, p);
        char *at = text + strspn(text, " \t");
        if (strncmp(at, "// loop ", 8) == 0) {
            assert_true(f->labels_n < LABELS_MOST);
            f->label[f->labels_n] = (label){0};
            read_label(&f->label[f->labels_n], at + 8);
            waiting = true;
        } else if (waiting && at[0] != '#' && strncmp(at, "//", 2) != 0) {
            f->label[f->labels_n++].line = line;
            waiting = false;
        }
        p += n + (end != NULL);
        line++;
    }
}

static inline void suite_open(suite_file *f, hpc_checker *c, const char *name)
{
    static const hpc_pragma_options options = HPC_PRAGMA_DEFAULTS;
    char path[PATH_MAX];
    memset(f, 0, sizeof *f);
    snprintf(path, sizeof path, "tests/pragma/loops/%s", name);
    OK(hpc_file_read(&f->text, path, 1 << 20));
    read_labels(f);
    hpc_language l = hpc_language_of(path, f->text.data, f->text.n);
    OK(hpc_tree_open(
        &f->source, c,
        &(hpc_tree_file){.path = path, .text = f->text.data, .n = f->text.n, .language = l}));
    OK(hpc_tree_get(&f->tree, f->source));
    OK(hpc_pragma_find(&f->loops, &f->tree, f->text.data, f->text.n, l, &options));
}

static inline void suite_close(suite_file *f)
{
    hpc_pragma_loops_release(&f->loops);
    hpc_tree_release(&f->tree);
    hpc_tree_close(f->source);
    hpc_buf_release(&f->text);
}

/* ---- clauses ----------------------------------------------------------------------------------
 */

/* Do the clauses contain "kind(... name ...)", with an optional modifier? */
static inline bool has_clause(const char *clauses, const char *kind, const char *name)
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
static inline bool clauses_within(const char *a, const char *b)
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

static inline bool same_clauses(const char *pragma, const char *wanted)
{
    if (strstr(pragma, " linear(")) return clauses_within(pragma, wanted);
    return clauses_within(pragma, wanted) && clauses_within(wanted, pragma);
}

#endif
