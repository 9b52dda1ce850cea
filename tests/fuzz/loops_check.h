/*
 * loops_check.h: invariants of brackets, loops, directives and samples of any text, for the fuzz
 * target and for tests that mutate texts.
 */
#ifndef HPC_TESTS_FUZZ_LOOPS_CHECK_H
#define HPC_TESTS_FUZZ_LOOPS_CHECK_H

#include <string.h>

#include "runtime/source/bracket.h"

typedef struct loops_check {
    hpc_language language;
    bool fixed;
    const char *text;
    size_t n;
    hpc_tokens t;
    hpc_functions f;
    hpc_loops l;
} loops_check;

static inline void loops_check_loop(const loops_check *c, int64_t i)
{
    const hpc_loop *l = &c->l.item[i];
    hpc_assert(l->at < l->end && l->end <= c->n);
    hpc_assert(l->body_at > l->at && l->body_at <= l->end);
    hpc_assert(l->line >= 1 && l->line <= l->end_line);
    hpc_assert(i == 0 || l[-1].at < l->at);
    hpc_assert(l->function >= -1 && l->function < c->f.n);
    hpc_assert(l->outer >= -1 && l->outer < i);
    hpc_assert(l->depth == (l->outer < 0 ? 0 : c->l.item[l->outer].depth + 1));
    if (l->outer >= 0) hpc_assert(c->l.item[l->outer].function == l->function);
    if (l->function >= 0) {
        hpc_assert(c->f.item[l->function].at <= l->at && l->at < c->f.item[l->function].end);
        if (!l->complete) hpc_assert(l->end <= c->f.item[l->function].end);
    }
    hpc_assert(l->pragmas_n >= 0 && (l->pragma >= 0) == (l->pragmas_n > 0));
    if (l->pragma < 0) return;
    hpc_assert((int64_t)l->pragma + l->pragmas_n <= c->l.pragma_n);
    hpc_assert(c->l.pragma[l->pragma + l->pragmas_n - 1].at < l->at);
}

static inline void loops_check_pragma(const loops_check *c, int64_t i)
{
    const hpc_pragma *p = &c->l.pragma[i];
    hpc_assert(p->at < p->end && p->end <= c->n && p->words != 0);
    hpc_assert(p->first <= p->last && p->last <= c->t.n);
    hpc_assert(i == 0 || p[-1].at <= p->at);
    hpc_assert(p->loop >= -1 && p->loop < c->l.n);
    hpc_assert(p->api == HPC_DIRECTIVE_OMP || p->api == HPC_DIRECTIVE_ACC);
}

/* A written directive is one line; reading it gives the same line and words. */
static inline void loops_check_text(const loops_check *c, int64_t i)
{
    hpc_buf once = {0}, twice = {0};
    hpc_tokens t = {0};
    hpc_functions f = {0};
    hpc_loops l = {0};
    hpc_assert(hpc_pragma_text(&once, &c->l, i, &c->t, c->text, c->language) == HPC_OK);
    hpc_assert(!memchr(once.data, '\n', once.n) && !memchr(once.data, '\r', once.n));
    hpc_assert(hpc_lex(&t, once.data, once.n, c->language, false) == HPC_OK);
    hpc_assert(hpc_loops_find(&l, &t, once.data, c->language, &f) == HPC_OK);
    hpc_assert(l.pragma_n == 1 && l.pragma[0].api == c->l.pragma[i].api);
    hpc_assert(l.pragma[0].words == c->l.pragma[i].words);
    hpc_assert(hpc_pragma_text(&twice, &l, 0, &t, once.data, c->language) == HPC_OK);
    hpc_assert(once.n == twice.n && memcmp(once.data, twice.data, once.n) == 0);
    hpc_buf_release(&once);
    hpc_buf_release(&twice);
    hpc_tokens_release(&t);
    hpc_loops_release(&l);
}

/* Parts are contiguous, two texts are never adjacent, and the loop is complete. */
static inline void loops_check_render(const loops_check *c, int64_t i, size_t before, size_t after)
{
    const hpc_loop *l = &c->l.item[i];
    hpc_render_options o = {.before = before, .after = after, .loop = SIZE_MAX};
    hpc_sample s = {0};
    size_t at = 0;
    int64_t loop = -1, pragma = -1;
    hpc_assert(hpc_render_loop(&s, &c->l, i, &c->f, NULL, c->text, c->n, "answer", &o) == HPC_OK);
    for (int64_t k = 0; k < s.n; k++) {
        hpc_assert(s.part[k].at == at && (s.part[k].n > 0) == (s.part[k].mark == HPC_MARK_NONE));
        hpc_assert(k == 0 || s.part[k].mark || s.part[k - 1].mark);
        if (s.part[k].mark == HPC_MARK_LOOP) loop = k;
        if (s.part[k].mark == HPC_MARK_PRAGMA) pragma = k;
        at += s.part[k].n;
    }
    hpc_assert(at == s.text.n && loop >= 0 && pragma == loop + 2 && s.n == pragma + 3);
    hpc_assert(s.part[loop].at <= before);
    hpc_assert(s.part[loop + 1].n >= l->end - l->at &&
               s.part[loop + 1].n <= l->end - l->at + after);
    hpc_assert(memcmp(s.text.data + s.part[loop + 1].at, c->text + l->at, l->end - l->at) == 0);
    hpc_sample_release(&s);
}

static inline void loops_check_brackets(const loops_check *c)
{
    hpc_brackets b = {0};
    hpc_assert(hpc_brackets_find(&b, &c->t, c->text, c->language) == HPC_OK);
    for (int64_t k = 0; k < b.n; k++) {
        const hpc_bracket *x = &b.item[k];
        hpc_assert(x->at < x->end && x->end <= c->n && (k == 0 || x[-1].at <= x->at));
        hpc_assert(x->outer >= -1 && x->outer < k && x->around >= -1 && x->around <= x->outer);
        if (x->partner < 0) continue;
        hpc_assert(x->partner < b.n && b.item[x->partner].partner == k);
        hpc_assert(x->closes == (x->partner < k) && b.item[x->partner].closes != x->closes);
    }
    for (int32_t i = b.open; i >= 0; i = b.item[i].outer)
        hpc_assert(!b.item[i].closes && b.item[i].partner < 0);
    hpc_brackets_release(&b);
}

enum { LOOPS_CHECK_SOME = 16 }; /* number of items for checks that are not linear in the text */

static inline void loops_check_all(const char *text, size_t n, hpc_language language, bool fixed)
{
    loops_check c = {.language = language, .fixed = fixed, .text = text, .n = n};
    hpc_assert(hpc_lex(&c.t, text, n, language, fixed) == HPC_OK);
    hpc_assert(hpc_functions_find(&c.f, &c.t, text, language) == HPC_OK);
    hpc_assert(hpc_loops_find(&c.l, &c.t, text, language, &c.f) == HPC_OK);
    loops_check_brackets(&c);
    for (int64_t i = 0; i < c.l.n; i++) loops_check_loop(&c, i);
    for (int64_t i = 0; i < c.l.pragma_n; i++) loops_check_pragma(&c, i);
    for (int64_t i = 0; i < c.l.pragma_n && i < LOOPS_CHECK_SOME; i++) loops_check_text(&c, i);
    for (int64_t i = 0; i < c.l.n && i < LOOPS_CHECK_SOME; i++) {
        loops_check_render(&c, i, 2048, 512);
        loops_check_render(&c, i, n % 64, n % 32);
        hpc_loop_hash(&c.l.item[i], &c.l, &c.t, text);
    }
    hpc_tokens_release(&c.t);
    hpc_functions_release(&c.f);
    hpc_loops_release(&c.l);
}

#endif
