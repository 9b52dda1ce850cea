/*
 * pragma_print.c: the results of one file: warnings, text, patches and edits; and the summary.
 */
#include <string.h>

#include "cmd/pragma.h"

static void print_warnings(pragma_file *f)
{
    for (size_t k = 0; k < f->warnings.n; k += strlen(f->warnings.data + k) + 1)
        hpc_cmd_warn(f->warnings.data + k, "pragma");
    f->warnings.n = 0;
}

static int fix(const pragma_file *f, pragma_judging *j)
{
    hpc_directive_edits c = {0};
    hpc_buf out = {0}, report = {0};
    int rc;
    TRY(hpc_directive_edits_find(&c, &f->d, -1));
    if (j->o->diff) {
        TRY(pragma_diff(&report, &c, f));
    } else if (c.n > 0) {
        TRY(hpc_directive_edits_apply(&out, &c, &f->d.text));
        TRY(hpc_cmd_edit("pragma", f->d.path, &f->d.text, &out, j->o->force));
        for (int64_t i = 0; i < f->d.loops.n; i++)
            if (f->d.choice[i].put)
                hpc_buf_printf(&report, "%s:%u: %s\n", f->d.path, f->d.loops.item[i].line,
                               f->d.choice[i].directive);
    }
    j->directives_n += c.directives_n;
    rc = hpc_cmd_print(&report);
out:
    hpc_directive_edits_release(&c);
    hpc_buf_release(&out);
    hpc_buf_release(&report);
    return rc;
}

/* The first error of the compiler, where it is, and what to do. Errors take verdicts away, so the
 * file counts as one that could not be used. */
static void warn_of_errors(const pragma_file *f, pragma_judging *j)
{
    char count[40] = "", text[800];
    if (f->d.errors == 0) return;
    j->worst = EXIT_BAD_INPUT;
    if (f->d.errors > 1)
        snprintf(count, sizeof count, " (first of %lld errors)", (long long)f->d.errors);
    snprintf(text, sizeof text, "%s%s; %s", f->d.error, count, pragma_error_advice(f));
    hpc_cmd_warn(text, "pragma");
}

/* Prints each step that --verify had to skip; once if all files have the same one. */
static void warn_of_skipped(const pragma_file *f, pragma_judging *j)
{
    static const char *const what[] = {"nothing was compiled", "ThreadSanitizer was not run"};
    char text[800];
    for (int k = 0; k < 2; k++) {
        if (!f->skipped[k]) continue;
        snprintf(text, sizeof text, "%s: %s", what[k], f->skipped[k]);
        if (strcmp(text, j->warned[k]) == 0) continue;
        snprintf(j->warned[k], sizeof j->warned[k], "%s", text);
        hpc_cmd_warn(text, "pragma");
    }
    if (f->rejected) j->worst = EXIT_BAD_INPUT;
}

static void remark(const pragma_file *f, pragma_judging *j)
{
    warn_of_errors(f, j);
    warn_of_skipped(f, j);
    if (f->d.cut && !j->o->quiet)
        fprintf(stderr, "hpccoder pragma: %s: too large, functions at its end are skipped\n",
                f->d.path);
}

static void count_trusted(const pragma_file *f, hpc_trust *t)
{
    hpc_trust_judged(t, f->d.path);
    for (int64_t i = 0; i < f->d.loops.n; i++)
        for (int64_t k = 0; k < f->d.loops.item[i].assumptions_n; k++)
            hpc_trust_used(t, f->d.loops.item[i].assumption[k].trusted);
}

void pragma_warn_of_trust(const pragma_judging *j)
{
    char text[800];
    for (int64_t k = 0; j->trust && k < j->trust->n; k++) {
        const hpc_trust_entry *e = &j->trust->item[k];
        if (!e->judged || e->used || j->o->at > 0) continue;
        snprintf(text, sizeof text, "%s:%lld: no loop of %s in %s depends on this assumption",
                 j->o->trust, (long long)e->line, e->function, e->file);
        hpc_cmd_warn(text, "pragma");
    }
}

static int print_result(const pragma_file *f, pragma_judging *j)
{
    hpc_buf out = {0};
    int rc;
    for (int64_t i = 0; i < f->d.loops.n; i++) {
        if (f->d.loops.item[i].already)
            j->already_n++;
        else
            j->by_verdict[f->d.loops.item[i].verdict]++;
        j->wrong_n += hpc_directive_is_wrong(&f->d.loops.item[i]);
    }
    remark(f, j);
    if (j->o->fix || j->o->diff) return fix(f, j);
    if (j->json || j->sarif) return HPC_OK;
    TRY(pragma_put_text(&out, f, j->o));
    rc = hpc_cmd_print(&out);
out:
    hpc_buf_release(&out);
    return rc;
}

int pragma_print_file(pragma_file *f, pragma_judging *j)
{
    int rc = HPC_OK;
    print_warnings(f);
    if (j->trust && !f->failed) count_trusted(f, j->trust);
    if (!f->failed) rc = pragma_give_up_on(f, print_result(f, j));
    print_warnings(f);
    if (f->failed)
        j->worst = EXIT_BAD_INPUT;
    else
        j->files_n++;
    return rc;
}

int pragma_print_summary(const pragma_judging *j)
{
    const int64_t *v = j->by_verdict, n = v[0] + v[1] + v[2] + v[3] + j->already_n;
    hpc_buf out = {0};
    if (j->o->quiet || j->o->diff || j->json || j->sarif || j->files_n == 0) return HPC_OK;
    if (j->o->fix)
        hpc_buf_printf(&out, "%lld directive%s inserted\n", (long long)j->directives_n,
                       j->directives_n == 1 ? "" : "s");
    else if (j->o->check)
        hpc_buf_printf(&out, "%lld wrong directive%s\n", (long long)j->wrong_n,
                       j->wrong_n == 1 ? "" : "s");
    else
        hpc_buf_printf(&out,
                       "%lld loop%s: %lld parallel, %lld conditional, %lld unsafe, %lld unknown",
                       (long long)n, n == 1 ? "" : "s", (long long)v[HPC_VERDICT_PARALLEL],
                       (long long)v[HPC_VERDICT_CONDITIONAL], (long long)v[HPC_VERDICT_UNSAFE],
                       (long long)v[HPC_VERDICT_UNKNOWN]);
    const bool lists = !j->o->fix && !j->o->check;
    if (lists && j->already_n > 0)
        hpc_buf_printf(&out, ", %lld already parallel", (long long)j->already_n);
    if (lists) hpc_buf_text(&out, "\n");
    if (lists && j->wrong_n > 0)
        hpc_buf_printf(&out, "%lld existing directive%s wrong: --check shows %s\n",
                       (long long)j->wrong_n, j->wrong_n == 1 ? " is" : "s are",
                       j->wrong_n == 1 ? "it" : "them");
    return hpc_cmd_print(&out);
}
