/*
 * Acknowledged slow-downs: "Perf-Ack:" lines of commit messages, and the file of acknowledgements.
 * They are reported and do not count.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "infer/perf/predict_priv.h"

enum { LINE_BYTES = 4096, DIGITS = 7, REMARKS = 20 };
#define TRAILER "Perf-Ack:"

int perf_remark(hpc_perf_prediction *p, const char *format, ...)
{
    char text[512];
    va_list a;
    int rc;
    if (p->remarks_n == REMARKS) return HPC_OK; /* more would not be read */
    va_start(a, format);
    vsnprintf(text, sizeof text, format, a);
    va_end(a);
    TRY(hpc_grow(&p->remark, &p->remarks_cap, p->remarks_n + 1, sizeof *p->remark));
    p->remark[p->remarks_n] = perf_clean(p->arena, text, strlen(text));
    TRY(p->remark[p->remarks_n] ? HPC_OK : HPC_E_NOMEM);
    p->remarks_n++;
out:
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_hex(const char *text)
{
    size_t n = strspn(text, "0123456789abcdefABCDEF");
    return n >= DIGITS && n <= 40 && !text[n];
}

/* "WHAT REASON" of a line that ends in a NUL. */
static int read_line(perf_acks *out, hpc_perf_prediction *p, char *line, int32_t number)
{
    int rc = HPC_OK;
    char *reason;
    line += strspn(line, " \t");
    if (!*line || *line == '#') return rc;
    reason = line + strcspn(line, " \t");
    if (*reason) *reason++ = '\0';
    reason += strspn(reason, " \t");
    if (!*reason)
        return perf_remark(p, "%s:%d: ignored, because no reason follows '%s'", out->name, number,
                           line);
    TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
    perf_ack *a = &out->item[out->n];
    *a = (perf_ack){.line = number};
    a->what = hpc_arena_text(p->arena, "%s", line);
    a->reason = perf_clean(p->arena, reason, strlen(reason));
    TRY(a->what && a->reason ? HPC_OK : HPC_E_NOMEM);
    out->n++;
out:
    return rc;
}

/* A line without its end, cut at LINE_BYTES; returns the start of the next line, NULL after the
 * last.
 */
static const char *take_line(char line[LINE_BYTES], const char *at)
{
    size_t n = strcspn(at, "\n");
    snprintf(line, LINE_BYTES, "%.*s", (int)(n < LINE_BYTES ? n : LINE_BYTES - 1), at);
    for (size_t end = strlen(line); end > 0 && isspace((unsigned char)line[end - 1]);)
        line[--end] = '\0';
    return at[n] ? at + n + 1 : NULL;
}

int perf_acks_read(perf_acks *out, hpc_perf_prediction *p, const char *name, const char *text)
{
    char line[LINE_BYTES];
    int rc = HPC_OK;
    *out = (perf_acks){.name = name};
    for (int32_t number = 1; text; number++) {
        text = take_line(line, text);
        TRY(read_line(out, p, line, number));
    }
out:
    return rc;
}

int perf_acks_trailer(hpc_perf_change_prediction *c, hpc_perf_prediction *p, const char *message)
{
    char line[LINE_BYTES], hex[41];
    int rc = HPC_OK;
    message = take_line(line, message); /* the subject is no place for it */
    while (message && !c->result.acknowledged) {
        message = take_line(line, message);
        if (strncasecmp(line, TRAILER, sizeof TRAILER - 1) != 0) continue;
        const char *reason = line + sizeof TRAILER - 1;
        reason += strspn(reason, " \t");
        hpc_git_id_text(hex, &c->head);
        if (!*reason) {
            TRY(perf_remark(p, "commit %.12s: its " TRAILER " gives no reason and is ignored",
                            hex));
            continue;
        }
        c->result.acknowledged = perf_clean(p->arena, reason, strlen(reason));
        TRY(c->result.acknowledged ? HPC_OK : HPC_E_NOMEM);
    }
out:
    return rc;
}

/* ---- what they are about --------------------------------------------------------------------- */

static bool names_commit(const perf_ack *a, const hpc_git_id *id)
{
    char hex[41];
    if (!is_hex(a->what)) return false;
    hpc_git_id_text(hex, id);
    return strncasecmp(hex, a->what, strlen(a->what)) == 0;
}

/* "PATH", of a file or folder, or "PATH:FUNCTION". Both may have colons. */
static bool names_path(const perf_ack *a, const char *path, const char *function)
{
    size_t n = strlen(a->what), path_n = strlen(path);
    if (strncmp(a->what, path, path_n) == 0 && a->what[path_n] == ':')
        return strcmp(a->what + path_n + 1, function) == 0;
    while (n > 0 && a->what[n - 1] == '/') n--;
    return strncmp(path, a->what, n) == 0 && n > 0 && (path[n] == '\0' || path[n] == '/');
}

static bool names_function(const perf_ack *a, const hpc_perf_function_prediction *f)
{
    return names_path(a, f->file, f->name) || names_path(a, f->base_file, f->name);
}

static void acknowledge(hpc_perf_result *s, const char *reason)
{
    if (s->acknowledged) return;
    s->acknowledged = reason;
    s->by_file = true;
}

static void apply_line(perf_ack *a, hpc_perf_change_prediction *t, bool commit)
{
    if (commit && names_commit(a, &t->head)) {
        a->used = true;
        acknowledge(&t->result, a->reason);
    }
    for (int64_t k = 0; k < t->n; k++) {
        if (!names_function(a, &t->function[k])) continue;
        a->used = true;
        acknowledge(&t->function[k].result, a->reason);
    }
}

/* All functions that are at its level are; or, if none is, all that there are. */
static void apply_functions(hpc_perf_change_prediction *t)
{
    const char *reason = NULL;
    bool any = false;
    for (int64_t k = 0; k < t->n; k++) any = any || t->function[k].result.level > HPC_PERF_NONE;
    for (int64_t k = 0; k < t->n; k++) {
        const hpc_perf_result *s = &t->function[k].result;
        if (any && s->level == HPC_PERF_NONE) continue;
        if (!s->acknowledged) return;
        if (!reason) reason = s->acknowledged;
    }
    if (reason) acknowledge(&t->result, reason);
}

/* Some commit at a level, and all of them acknowledged. */
static void apply_commits(hpc_perf_prediction *p)
{
    const hpc_perf_result *first = NULL;
    for (int64_t k = 0; k < p->n; k++) {
        const hpc_perf_result *s = &p->commit[k].result;
        if (s->level == HPC_PERF_NONE) continue;
        if (!s->acknowledged) return;
        if (!first) first = s;
    }
    if (!first || p->range.result.acknowledged) return;
    p->range.result.acknowledged = first->acknowledged;
    p->range.result.by_file = first->by_file;
}

/* An acknowledgement of a commit outside of the range is merely old. */
static int report_unused(const perf_acks *acks, hpc_perf_prediction *p, hpc_git *g)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < acks->n; k++) {
        const perf_ack *a = &acks->item[k];
        hpc_git_id id;
        if (a->used) continue;
        bool commit = is_hex(a->what);
        if (commit && hpc_git_resolve(&id, g, a->what) == HPC_OK) continue;
        if (commit && hpc_error_get()->code == HPC_E_NOMEM) return HPC_E_NOMEM;
        hpc_error_clear();
        TRY(perf_remark(p, "%s:%d: ignored, because nothing in the range matches '%s'", acks->name,
                        a->line, a->what));
    }
out:
    return rc;
}

int perf_acks_apply(perf_acks *acks, hpc_perf_prediction *p, hpc_git *g)
{
    int rc;
    for (int64_t k = 0; k < acks->n; k++) {
        for (int64_t i = 0; i < p->n; i++) apply_line(&acks->item[k], &p->commit[i], true);
        apply_line(&acks->item[k], &p->range, false);
    }
    for (int64_t i = 0; i < p->n; i++) apply_functions(&p->commit[i]);
    apply_functions(&p->range);
    apply_commits(p);
    TRY(report_unused(acks, p, g));
out:
    return rc;
}
