/*
 * answer.h: invariants of every prediction for a change (infer/perf), for tests and the fuzzer.
 */
#ifndef HPC_TESTS_PERF_ANSWER_H
#define HPC_TESTS_PERF_ANSWER_H

#include <math.h>
#include <string.h>

#include "infer/perf/feature.h"

static inline void check_function(const hpc_perf_change *c, const hpc_perf_function *f)
{
    hpc_assert(f->file >= 0 && f->file < c->files_n);
    hpc_assert(f->base_file >= 0 && f->base_file < c->files_n);
    hpc_assert(f->base.source || f->head.source);
    hpc_assert((f->state == HPC_PERF_ADDED) == !f->base.source);
    hpc_assert((f->state == HPC_PERF_DELETED) == !f->head.source);
    hpc_assert(f->name < c->names.n && f->base_name < c->names.n);
    for (int64_t i = f->first; i < f->first + f->edits_n; i++) {
        const hpc_perf_edit *e = &c->edit[i];
        hpc_assert(e->base_n + e->head_n > 0 && e->base_line > 0 && e->head_line > 0);
        hpc_assert(e->base_line + e->base_n <= f->base.source->lines_n + 1);
        hpc_assert(e->head_line + e->head_n <= f->head.source->lines_n + 1);
    }
}

static inline void check_features(const hpc_perf_change *c, const hpc_perf_features *f)
{
    hpc_assert(f->n == c->n);
    for (int64_t k = -1; k < f->n; k++) {
        const hpc_perf_vector *v = k < 0 ? &f->commit : &f->function[k];
        for (int i = 0; i < HPC_PERF_FEATURES; i++) hpc_assert(isfinite(v->value[i]));
    }
    for (int64_t k = 0; k < f->shifts_n; k++) {
        const hpc_perf_shift *s = &f->shift[k];
        hpc_assert(s->base_depth >= 0 || s->head_depth >= 0);
        hpc_assert((s->base_line > 0) == (s->base_depth >= 0));
        hpc_assert((s->head_line > 0) == (s->head_depth >= 0));
        hpc_assert(s->function >= 0 && s->function < c->n && s->word < f->words.n);
    }
}

static inline void check_reasons(const hpc_perf_reasons *r, int64_t most)
{
    hpc_assert(r->n <= most);
    for (int64_t k = 0; k < r->n; k++) {
        const char *text = r->text.data + r->item[k].text;
        size_t n = strlen(text);
        hpc_assert(n > 0 && n < 400 && !strpbrk(text, "\n\r"));
    }
}

static inline void check_answer(const hpc_perf_change *c, const hpc_perf_features *f,
                                const hpc_perf_reasons *r, int64_t most)
{
    for (int64_t k = 0; k < c->n; k++) check_function(c, &c->function[k]);
    check_features(c, f);
    check_reasons(r, most);
}

#endif
