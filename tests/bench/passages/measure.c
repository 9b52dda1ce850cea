/*
 * measure.c: recall of a passage index on its corpus, and matches in another corpus that was not
 * used for training: `measure PASSAGES CORPUS OTHER`.
 *
 * Runs of the first corpus, taken from random positions, are inserted into code of the second.
 * Files of the second are looked up unchanged, and compared with all runs of 40 tokens of the
 * first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/corpus.h"
#include "runtime/base/mix.h"
#include "runtime/source/passage.h"

enum { RUNS = 20000, AROUND = 50, LONGEST = 64, TABLE_LOG2 = 26 };

typedef struct text {
    hpc_token *token; /* of code */
    int64_t n, before;
    int32_t source; /* -1: not in the file of passages */
} text;
typedef struct texts {
    text *item;
    int64_t n, cap, tokens_n;
} texts;
typedef struct bench {
    hpc_passages *p;
    texts known, other;
    uint64_t *run; /* every run of 40 tokens of `known`, by open addressing; 0: free */
    uint64_t drawn;
} bench;

/* ---- texts --------------------------------------------------------------------------------- */

static int32_t source_of(const hpc_passages *p, const hpc_corpus_file *f)
{
    hpc_passages_facts facts;
    hpc_passages_describe(&facts, p);
    for (int32_t k = 0; k < facts.sources_n; k++) {
        const hpc_source *s = hpc_passages_source(p, k);
        if (strcmp(s->repository, f->repository) == 0 && strcmp(s->licence, f->licence) == 0)
            return k;
    }
    return -1;
}

static int add(texts *out, const hpc_tokens *t, int32_t source)
{
    int64_t n = 0;
    int rc;
    TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
    text *x = &out->item[out->n];
    *x = (text){.before = out->tokens_n, .source = source};
    for (int64_t i = 0; i < t->n; i++) n += hpc_token_is_code(&t->item[i]);
    if (n < HPC_PASSAGE_WINDOW) return HPC_OK;
    x->token = hpc_alloc((size_t)n, sizeof *x->token);
    if (!x->token) return HPC_E_NOMEM;
    for (int64_t i = 0; i < t->n; i++)
        if (hpc_token_is_code(&t->item[i])) x->token[x->n++] = t->item[i];
    out->tokens_n += n;
    out->n++;
out:
    return rc;
}

static int read_texts(texts *out, const char *folder, const hpc_corpus_filter *which,
                      const hpc_passages *p)
{
    hpc_corpus *c = NULL;
    hpc_corpus_file f;
    hpc_tokens t = {0};
    hpc_buf b = {0};
    int rc;
    TRY(hpc_corpus_open(&c, folder));
    TRY(hpc_corpus_select(c, which));
    for (;;) {
        TRY(hpc_corpus_next(&f, c));
        if (rc == 0) break;
        TRY(hpc_corpus_read(&b, c, &f));
        TRY(hpc_lex(&t, b.data ? b.data : "", b.n, f.language, f.fixed));
        TRY(add(out, &t, source_of(p, &f)));
    }
    if (out->n == 0) rc = hpc_fail(HPC_E_ARG, "%s: there is nothing to measure with", folder);
out:
    hpc_buf_release(&b);
    hpc_tokens_release(&t);
    hpc_corpus_close(c);
    return rc;
}

static void release(texts *t)
{
    for (int64_t k = 0; k < t->n; k++) hpc_free(t->item[k].token);
    hpc_free(t->item);
}

/* ---- runs that were put somewhere ---------------------------------------------------------- */

static int64_t draw(bench *b, int64_t n)
{
    return (int64_t)(hpc_mix(++b->drawn) % (uint64_t)n);
}

/* Any place of n tokens in one of the texts, each as likely as the next. */
static const text *draw_place(int64_t *at, bench *b, const texts *t, int64_t n)
{
    for (;;) {
        int64_t place = draw(b, t->tokens_n), lo = 0, hi = t->n - 1;
        while (lo < hi) {
            int64_t mid = (lo + hi + 1) / 2;
            if (t->item[mid].before <= place)
                lo = mid;
            else
                hi = mid - 1;
        }
        *at = place - t->item[lo].before;
        if (*at + n <= t->item[lo].n) return &t->item[lo];
    }
}

/* Do the run's windows have too few names to be identified? */
static bool has_few_names(const text *x, int64_t at)
{
    uint32_t seen[3];
    int n = 0;
    at += -at & (HPC_PASSAGE_STRIDE - 1);
    for (int64_t i = at; i < at + HPC_PASSAGE_SPAN && n < 3; i++) {
        bool is_new = x->token[i].kind == HPC_TOKEN_NAME;
        for (int k = 0; k < n; k++) is_new &= seen[k] != x->token[i].hash;
        if (is_new) seen[n++] = x->token[i].hash;
    }
    return n < 3;
}

/* Looks up a run of n tokens at AROUND: *named: its source is found; *other: other sources are. */
static void judge(bool *named, bool *other, const hpc_passage_list *l, int64_t n, int32_t source)
{
    *named = *other = false;
    for (int64_t k = 0; k < l->n; k++) {
        const hpc_passage *x = &l->item[k];
        if (x->last <= AROUND || x->first >= AROUND + n) continue;
        *other = true;
        for (int32_t i = 0; i < x->sources_n; i++) *named |= x->source[i] == source;
    }
    *other &= !*named;
}

static int measure_planted(bench *b, int64_t n)
{
    hpc_token token[AROUND + LONGEST + AROUND];
    int64_t named_n = 0, other_n = 0, few_n = 0, rest_n = 0;
    hpc_passage_list l = {0};
    int rc = HPC_OK;
    for (int64_t k = 0; k < RUNS; k++) {
        int64_t at, around;
        bool named, other;
        const text *in = draw_place(&around, b, &b->other, (int64_t)2 * AROUND);
        const text *from = draw_place(&at, b, &b->known, n);
        memcpy(token, in->token + around, AROUND * sizeof *token);
        memcpy(token + AROUND, from->token + at, (size_t)n * sizeof *token);
        memcpy(token + AROUND + n, in->token + around + AROUND, AROUND * sizeof *token);
        const hpc_tokens t = {.item = token, .n = AROUND + n + AROUND};
        TRY(hpc_passages_find(&l, b->p, &t, 0, t.n));
        judge(&named, &other, &l, n, from->source);
        bool few = n >= HPC_PASSAGE_TOKENS && has_few_names(from, at);
        named_n += named;
        other_n += other;
        few_n += !named && !other && few;
        rest_n += !named && !other && !few;
    }
    printf("runs of %2lld tokens: named %.2f %%, only another source %.2f %%; not named: too few "
           "names %.2f %%, else %.2f %%\n",
           (long long)n, 100.0 * (double)named_n / RUNS, 100.0 * (double)other_n / RUNS,
           100.0 * (double)few_n / RUNS, 100.0 * (double)rest_n / RUNS);
out:
    hpc_passage_list_release(&l);
    return rc;
}

/* ---- files of other people ----------------------------------------------------------------- */

/* Where the run at t is, or would be put as *key. */
static uint64_t *place_of(uint64_t *key, const bench *b, const hpc_token *t)
{
    const uint64_t mask = (UINT64_C(1) << TABLE_LOG2) - 1;
    *key = 0;
    for (int k = 0; k < HPC_PASSAGE_TOKENS; k++) *key = *key * HPC_ROLL_BASE + t[k].hash;
    *key = hpc_mix(*key) | 1;
    uint64_t at = *key >> (64 - TABLE_LOG2);
    while (b->run[at] && b->run[at] != *key) at = (at + 1) & mask;
    return &b->run[at];
}

static int learn_runs(bench *b)
{
    const int64_t places = INT64_C(1) << TABLE_LOG2;
    if (b->known.tokens_n > places / 3 * 2)
        return hpc_fail(HPC_E_UNSUPPORTED, "%lld tokens are too many for the table of runs",
                        (long long)b->known.tokens_n);
    b->run = hpc_alloc((size_t)places, sizeof *b->run);
    if (!b->run) return HPC_E_NOMEM;
    for (int64_t k = 0; k < b->known.n; k++) {
        const text *x = &b->known.item[k];
        for (int64_t i = 0; i + HPC_PASSAGE_TOKENS <= x->n; i++) {
            uint64_t key, *at = place_of(&key, b, x->token + i);
            *at = key;
        }
    }
    return HPC_OK;
}

static int measure_other(bench *b)
{
    int64_t alarms_n = 0, none_n = 0, has_n = 0, missed_n = 0;
    hpc_passage_list l = {0};
    int rc = HPC_OK;
    for (int64_t k = 0; k < b->other.n; k++) {
        const text *x = &b->other.item[k];
        const hpc_tokens t = {.item = x->token, .n = x->n};
        uint64_t key;
        bool has = false;
        TRY(hpc_passages_find(&l, b->p, &t, 0, t.n));
        for (int64_t i = 0; i + HPC_PASSAGE_TOKENS <= x->n && !has; i++)
            has = *place_of(&key, b, x->token + i) != 0;
        alarms_n += l.n > 0;
        none_n += l.n > 0 && !has;
        has_n += has;
        missed_n += has && l.n == 0;
    }
    printf("other files: %lld, %lld tokens; named %lld, %.2f %%; of these without a run of %d of "
           "the corpus %lld, %.2f %%; with one %lld, not named %lld\n",
           (long long)b->other.n, (long long)b->other.tokens_n, (long long)alarms_n,
           100.0 * (double)alarms_n / (double)b->other.n, HPC_PASSAGE_TOKENS, (long long)none_n,
           100.0 * (double)none_n / (double)b->other.n, (long long)has_n, (long long)missed_n);
out:
    hpc_passage_list_release(&l);
    return rc;
}

static int measure(bench *b, char **argv)
{
    static const int sizes[] = {28, 32, 36, 37, 38, 39, HPC_PASSAGE_TOKENS, LONGEST};
    const hpc_corpus_filter known = {.splits = 1u << HPC_SPLIT_TRAIN};
    const hpc_corpus_filter other = {.reasons = 1u << HPC_REASON_KEPT |
                                                1u << HPC_REASON_NEAR_DUPLICATE |
                                                1u << HPC_REASON_STRADDLES};
    int rc;
    TRY(hpc_passages_open(&b->p, argv[1]));
    TRY(read_texts(&b->known, argv[2], &known, b->p));
    TRY(read_texts(&b->other, argv[3], &other, b->p));
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) TRY(measure_planted(b, sizes[k]));
    TRY(learn_runs(b));
    TRY(measure_other(b));
out:
    return rc;
}

int main(int argc, char **argv)
{
    bench b = {0};
    if (argc != 4) {
        fprintf(stderr, "measure PASSAGES CORPUS OTHER\n");
        return EXIT_FAILURE;
    }
    int rc = measure(&b, argv);
    if (rc < 0) fprintf(stderr, "measure: %s\n", hpc_error_get()->text);
    hpc_passages_close(b.p);
    release(&b.known);
    release(&b.other);
    hpc_free(b.run);
    return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
