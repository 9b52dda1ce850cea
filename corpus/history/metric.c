/*
 * Metrics: names, patterns for printed numbers, and counts of valgrind.
 */
#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/history/priv.h"

static const char *const names[] = {[HISTORY_TIME] = "time",
                                    [HISTORY_USER] = "user",
                                    [HISTORY_MEMORY] = "memory",
                                    [HISTORY_HARDWARE] = "instructions-hardware",
                                    [HISTORY_INSTRUCTIONS] = "instructions-valgrind",
                                    [HISTORY_COST] = "cost"};

/* ---- names ---------------------------------------------------------------------------------- */

/* Replaces \d, which POSIX lacks. */
static int plain_pattern(hpc_buf *out, const char *text)
{
    int rc = HPC_OK;
    for (const char *at = text; *at; at++) {
        if (at[0] == '\\' && at[1] == 'd') {
            TRY(hpc_buf_text(out, "[0-9]"));
            at++;
        } else if (at[0] == '\\' && at[1]) {
            TRY(hpc_buf_add(out, at++, 2));
        } else {
            TRY(hpc_buf_add(out, at, 1));
        }
    }
out:
    return rc;
}

static int compile(regex_t *out, const char *pattern, const char *name)
{
    char why[128];
    hpc_buf plain = {0};
    int rc, code = 0;
    TRY(plain_pattern(&plain, pattern));
    code = regcomp(out, plain.data, REG_EXTENDED | REG_NEWLINE);
    if (code != 0) {
        regerror(code, out, why, sizeof why);
        rc = hpc_fail(code == REG_ESPACE ? HPC_E_NOMEM : HPC_E_ARG, "metric %s: '%.100s': %s", name,
                      pattern, why);
        goto out;
    }
    if (out->re_nsub == 0) {
        regfree(out);
        rc = hpc_fail(HPC_E_ARG, "metric %s: '%.100s' has no group ( ) around the number", name,
                      pattern);
    }
out:
    hpc_buf_release(&plain);
    return rc;
}

static int parsed_metric(hpc_history_metric *out, const char *text, size_t n)
{
    regex_t tried;
    int rc = HPC_OK;
    *out = (hpc_history_metric){.kind = HISTORY_PARSED};
    out->rate = n >= 2 && memcmp(text + n - 2, "/s", 2) == 0;
    size_t named = out->rate ? n - 2 : n;
    if (named == 0 || named > sizeof out->name - 3)
        TRY(hpc_fail(HPC_E_ARG, "metric '%.60s': the name before '=' has 1 to %d bytes", text,
                     (int)sizeof out->name - 3));
    hpc_buf name = {0};
    TRY(hpc_buf_printf(&name, "%s%.*s", out->rate ? "1/" : "", (int)named, text));
    memcpy(out->name, name.data, name.n + 1);
    hpc_buf_release(&name);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(out->name, names[k]) == 0)
            TRY(hpc_fail(HPC_E_ARG, "metric '%s' is measured directly and takes no pattern",
                         names[k]));
    TRY(compile(&tried, text + n + 1, out->name));
    regfree(&tried);
    out->pattern = hpc_alloc(strlen(text + n + 1) + 1, 1);
    if (!out->pattern) return HPC_E_NOMEM;
    memcpy(out->pattern, text + n + 1, strlen(text + n + 1));
out:
    return rc;
}

int hpc_history_metric_parse(hpc_history_metric *out, const char *text)
{
    size_t n = strcspn(text, "=");
    *out = (hpc_history_metric){0};
    if (text[n] == '=') return parsed_metric(out, text, n);
    if (strcmp(text, "instructions") == 0)
        text = names[hpc_proc_counts(HPC_COUNTER_INSTRUCTIONS) ? HISTORY_HARDWARE
                                                               : HISTORY_INSTRUCTIONS];
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (strcmp(text, names[k]) != 0) continue;
        out->kind = (history_kind)k;
        memcpy(out->name, names[k], strlen(names[k]) + 1);
        return HPC_OK;
    }
    return hpc_fail(
        HPC_E_ARG,
        "unknown metric '%.60s': expected time, user, memory, instructions, instructions-hardware, "
        "instructions-valgrind, cost, NAME=PATTERN or, if more is better, NAME/s=PATTERN",
        text);
}

void hpc_history_metric_release(hpc_history_metric *m)
{
    hpc_free(m->pattern);
    *m = (hpc_history_metric){0};
}

/* ---- numbers that are printed -----------------------------------------------------------------
 */

/* Accepts "1,234.5" for 1234.5. */
static bool number(double *out, const char *text, size_t n)
{
    char plain[64], *end;
    size_t at = 0;
    for (size_t k = 0; k < n; k++)
        if (text[k] != ',' && at < sizeof plain - 1) plain[at++] = text[k];
    plain[at] = '\0';
    *out = strtod(plain, &end);
    return end != plain && isfinite(*out) && *out > 0;
}

/* The last one, as sums stand below what they are of. */
int history_parse(double *out, const hpc_history_metric *m, const hpc_buf *printed)
{
    const char *at = printed->data ? printed->data : "";
    regex_t pattern;
    regmatch_t match[2];
    bool any = false, found = false;
    double value;
    int rc = compile(&pattern, m->pattern, m->name);
    if (rc < 0) return rc;
    for (int flags = 0; regexec(&pattern, at, 2, match, flags) == 0; flags = REG_NOTBOL) {
        any = true;
        if (match[1].rm_so >= 0 &&
            number(&value, at + match[1].rm_so, (size_t)(match[1].rm_eo - match[1].rm_so)))
        {
            *out = m->rate ? 1 / value : value;
            found = true;
        }
        if (!at[match[0].rm_so]) break;
        at += match[0].rm_eo > match[0].rm_so ? match[0].rm_eo : match[0].rm_so + 1;
    }
    regfree(&pattern);
    if (found) return HPC_OK;
    return hpc_fail(HPC_E_FORMAT, "metric %s: %s in the output", m->name,
                    any ? "the pattern matches no number above 0" : "the pattern does not match");
}

/* ---- what valgrind counted ----------------------------------------------------------------------
 */

/* "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw" */
bool history_events_find(history_events *out, const char *text)
{
    const char *at = strstr(text, "\nevents: ");
    bool any = false;
    *out = (history_events){.n = 0};
    if (!at) return false;
    for (at += strlen("\nevents: "); *at && *at != '\n' && out->n < HISTORY_EVENTS; out->n++) {
        size_t n = strcspn(at, " \n");
        bool instructions = n == 2 && memcmp(at, "Ir", 2) == 0, miss = n == 4 && at[2] == 'm';
        if (instructions || miss) out->kind[out->n] = instructions ? 'i' : at[1];
        any = any || instructions;
        at += n;
        while (*at == ' ') at++;
    }
    return any && (!*at || *at == '\n');
}

int history_counts_row(history_counts *c, const history_events *e, const char *row)
{
    int k = 0;
    for (; k < e->n; k++) {
        while (*row == ' ') row++;
        if (*row < '0' || *row > '9') break;
        char *end;
        double value = strtod(row, &end);
        row = end;
        if (e->kind[k] == 'i') c->instructions += value;
        if (e->kind[k] == '1') c->first += value;
        if (e->kind[k] == 'L') c->last += value;
    }
    return k;
}

double history_cost(const history_counts *c)
{
    static const double first_level = 10, last_level = 100; /* of a miss, in instructions */
    return c->instructions + first_level * c->first + last_level * c->last;
}

/* The sums stand further down: "summary: 1 2 3 ...". */
bool history_counts_add(history_counts *c, const char *text)
{
    const char *summary = strstr(text, "\nsummary: ");
    history_counts sums = *c;
    history_events e;
    if (!summary || !history_events_find(&e, text)) return false;
    if (history_counts_row(&sums, &e, summary + strlen("\nsummary: ")) < e.n) return false;
    *c = sums;
    return true;
}

bool history_wants(const hpc_history_options *o, history_kind kind)
{
    for (int k = 0; k < o->metrics; k++)
        if (o->metric[k].kind == kind) return true;
    return false;
}
