/*
 * loops_text.c: extracts the loops of one text with their directives, as records and JSON lines.
 *
 * loops.c detects loops that occur elsewhere.
 */
#include <stdio.h>
#include <string.h>

#include "corpus/loops.h"

const char *loops_kind_name(loops_kind k)
{
    static const char *const name[LOOPS_KIND_N] = {[LOOPS_ANNOTATED] = "annotated",
                                                   [LOOPS_PRESUMED] = "presumed-negative",
                                                   [LOOPS_DISPUTED] = "disputed",
                                                   [LOOPS_ACC] = "acc",
                                                   [LOOPS_OTHER] = "other"};
    hpc_assert((unsigned)k < LOOPS_KIND_N);
    return name[k];
}

void loops_scratch_release(loops_scratch *s)
{
    hpc_tokens_release(&s->t);
    hpc_functions_release(&s->f);
    hpc_loops_release(&s->l);
    hpc_buf_release(&s->directive);
    hpc_buf_release(&s->words);
}

/* ---- records in a buffer: numbers, then texts with their NUL -------------------------------- */

enum { TEXTS_N = 7 };

typedef struct packed_record {
    loops_record r; /* without its texts */
    uint32_t bytes[TEXTS_N];
} packed_record;

static int put_packed(hpc_buf *out, const loops_record *r, const char *const *texts,
                      const size_t *bytes)
{
    packed_record p;
    memset(&p, 0, sizeof p);
    p.r.hash = r->hash;
    p.r.directive_hash = r->directive_hash;
    p.r.file = r->file;
    p.r.line = r->line;
    p.r.end_line = r->end_line;
    p.r.begin = r->begin;
    p.r.end = r->end;
    p.r.words = r->words;
    p.r.depth = r->depth;
    p.r.api = r->api;
    p.r.kind = r->kind;
    p.r.language = r->language;
    p.r.split = r->split;
    for (int k = 0; k < TEXTS_N; k++) p.bytes[k] = (uint32_t)bytes[k];
    hpc_buf_add(out, &p, sizeof p);
    for (int k = 0; k < TEXTS_N; k++) {
        hpc_buf_add(out, texts[k], bytes[k]);
        hpc_buf_add(out, "", 1);
    }
    return out->failed;
}

int loops_put(hpc_buf *out, const loops_record *r)
{
    const char *const texts[TEXTS_N] = {r->repository, r->path,   r->licence, r->function,
                                        r->directive,  r->header, r->text};
    size_t bytes[TEXTS_N];
    for (int k = 0; k < TEXTS_N; k++) bytes[k] = strlen(texts[k]);
    return put_packed(out, r, texts, bytes);
}

bool loops_next(loops_record *r, size_t *at, const char *data, size_t n)
{
    packed_record p;
    const char *texts[TEXTS_N];
    if (n - *at < sizeof p) return false;
    memcpy(&p, data + *at, sizeof p);
    size_t next = *at + sizeof p;
    for (int k = 0; k < TEXTS_N; k++) {
        if (n - next <= p.bytes[k]) return false;
        texts[k] = data + next;
        next += p.bytes[k] + (size_t)1;
    }
    *r = p.r;
    r->repository = texts[0];
    r->path = texts[1];
    r->licence = texts[2];
    r->function = texts[3];
    r->directive = texts[4];
    r->header = texts[5];
    r->text = texts[6];
    *at = next;
    return true;
}

/* ---- what a loop is ------------------------------------------------------------------------- */

enum {
    FOR_LOOPS = HPC_OMP_FOR | HPC_OMP_SIMD | HPC_OMP_DISTRIBUTE | HPC_OMP_TASKLOOP | HPC_OMP_LOOP |
                HPC_OMP_TILE_UNROLL
};

/* The directives of one API on the loop, a line each; of other choices the first. */
static int write_directive(hpc_buf *out, uint32_t *words, const loops_scratch *s, const hpc_loop *l,
                           hpc_directive_api api, const char *text, hpc_language lang)
{
    int rc = HPC_OK;
    out->n = 0;
    *words = 0;
    for (int32_t k = 0; k < l->pragmas_n; k++) {
        const hpc_pragma *p = &s->l.pragma[l->pragma + k];
        if (p->api != api || (p->alternative && out->n > 0)) continue;
        if (out->n > 0) TRY(hpc_buf_text(out, "\n"));
        TRY(hpc_pragma_text(out, &s->l, l->pragma + k, &s->t, text, lang));
        *words |= p->words;
    }
out:
    return rc;
}

typedef struct text_of {
    const char *text;
    size_t n;
    bool uses_openmp;
} text_of;

/* Appends a name, or a function's header up to its body, with white space reduced to
 * single blanks. */
static int one_line(hpc_buf *out, const char *text, size_t n, size_t most)
{
    size_t start = out->n;
    bool gap = false;
    for (size_t k = 0; k < n && out->n - start < most; k++) {
        unsigned char c = (unsigned char)text[k];
        if (c <= ' ') {
            gap = out->n > start;
            continue;
        }
        if (gap) hpc_buf_text(out, " ");
        hpc_buf_add(out, text + k, 1);
        gap = false;
    }
    /* Not within a character. */
    while (out->n > start && out->n - start >= most &&
           ((unsigned char)out->data[out->n - 1] & 0x80))
        out->n--;
    return out->failed;
}

static int put_record(hpc_buf *out, loops_scratch *s, loops_record *r, const hpc_loop *l,
                      const text_of *from)
{
    const hpc_function *f = l->function >= 0 ? &s->f.item[l->function] : NULL;
    hpc_buf *w = &s->words;
    int rc = HPC_OK;
    w->n = 0;
    if (f) TRY(one_line(w, from->text + f->name_at, f->name_n, LOOPS_HEADER_MOST));
    size_t name = w->n;
    if (f && f->body_at > f->at)
        TRY(one_line(w, from->text + f->at, f->body_at - f->at, LOOPS_HEADER_MOST));
    const char *base = w->data ? w->data : "", *directive = s->directive.data;
    const char *const texts[TEXTS_N] = {
        r->repository, r->path,           r->licence, base, s->directive.n > 0 ? directive : "",
        base + name,   from->text + l->at};
    const size_t bytes[TEXTS_N] = {strlen(r->repository), strlen(r->path), strlen(r->licence), name,
                                   s->directive.n,        w->n - name,     l->end - l->at};
    r->directive_hash = hpc_hash_wide(texts[4], bytes[4]);
    TRY(put_packed(out, r, texts, bytes));
out:
    return rc;
}

/* A loop with directives of both APIs is two records; one without any is one. */
static int put_loop(hpc_buf *out, loops_scratch *s, const loops_record *like, const hpc_loop *l,
                    const text_of *from)
{
    loops_record r = *like;
    hpc_language lang = (hpc_language)like->language;
    uint32_t words = 0;
    int rc = HPC_OK;
    bool put = false;
    r.hash = hpc_loop_hash(l, &s->l, &s->t, from->text);
    r.line = l->line;
    r.end_line = l->end_line;
    r.begin = l->at;
    r.end = l->end;
    r.depth = l->depth;
    for (int api = HPC_DIRECTIVE_OMP; api <= HPC_DIRECTIVE_ACC; api++) {
        TRY(write_directive(&s->directive, &words, s, l, (hpc_directive_api)api, from->text, lang));
        if (s->directive.n == 0) continue;
        r.api = (uint8_t)api;
        r.words = words;
        r.kind = api == HPC_DIRECTIVE_ACC ? LOOPS_ACC
                 : words & FOR_LOOPS      ? LOOPS_ANNOTATED
                                          : LOOPS_OTHER;
        TRY(put_record(out, s, &r, l, from));
        put = true;
    }
    if (put) return rc;
    s->directive.n = 0;
    r.api = HPC_DIRECTIVE_NONE;
    r.words = 0;
    r.kind = from->uses_openmp && !l->in_parallel ? LOOPS_PRESUMED : LOOPS_OTHER;
    TRY(put_record(out, s, &r, l, from));
out:
    return rc;
}

int loops_of_text(hpc_buf *out, loops_scratch *s, int64_t *loops_n, const loops_record *like,
                  const char *text, size_t n, bool fixed)
{
    hpc_language lang = (hpc_language)like->language;
    text_of from = {.text = text, .n = n};
    int rc = HPC_OK;
    TRY(hpc_lex(&s->t, text, n, lang, fixed));
    TRY(hpc_functions_find(&s->f, &s->t, text, lang));
    TRY(hpc_loops_find(&s->l, &s->t, text, lang, &s->f));
    from.uses_openmp = hpc_parallel_of(&s->t, text, lang) & HPC_PARALLEL_OPENMP;
    for (int64_t k = 0; k < s->l.n; k++) {
        const hpc_loop *l = &s->l.item[k];
        ++*loops_n;
        if (!l->complete || l->end - l->at > LOOPS_BYTES_MOST || l->depth > LOOPS_DEPTH_MOST)
            continue;
        TRY(put_loop(out, s, like, l, &from));
    }
out:
    return rc;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_words(hpc_json_out *w, uint32_t words)
{
    static const char *const name[] = {"parallel",    "for",      "simd",     "target", "teams",
                                       "distribute",  "taskloop", "sections", "loop",   "kernels",
                                       "tile/unroll", "masked",   "other"};
    hpc_json_open(w, "words", '[');
    for (int k = 0; k < (int)(sizeof name / sizeof *name); k++)
        if (words >> k & 1) hpc_json_put_text(w, NULL, name[k]);
    hpc_json_close(w, ']');
}

void loops_json(hpc_buf *out, const loops_record *r, int64_t id, int64_t occurrences)
{
    static const char *const api[] = {NULL, "omp", "acc"};
    hpc_json_out w = {.buf = out};
    char hash[40];
    snprintf(hash, sizeof hash, "%016llx%016llx", (unsigned long long)r->hash.high,
             (unsigned long long)r->hash.low);
    hpc_json_open(&w, NULL, '{');
    if (id) {
        hpc_json_put_int(&w, "id", id);
        hpc_json_put_int(&w, "file", r->file);
        hpc_json_put_text(&w, "repository", r->repository);
    }
    hpc_json_put_text(&w, "path", r->path);
    hpc_json_put_int(&w, "line", r->line);
    hpc_json_put_int(&w, "end_line", r->end_line);
    hpc_json_put_text(&w, "function", *r->function ? r->function : NULL);
    hpc_json_put_text(&w, "language", hpc_language_name((hpc_language)r->language));
    hpc_json_put_text(&w, "kind", loops_kind_name((loops_kind)r->kind));
    hpc_json_put_text(&w, "api", api[r->api]);
    put_words(&w, r->words);
    hpc_json_put_text(&w, "directive", *r->directive ? r->directive : NULL);
    hpc_json_put_text(&w, "hash", hash);
    if (id) {
        hpc_json_put_int(&w, "occurrences", occurrences);
        hpc_json_put_text(&w, "split", hpc_split_name((hpc_split)r->split));
        hpc_json_put_text(&w, "licence", r->licence);
    }
    hpc_json_put_int(&w, "depth", r->depth);
    hpc_json_put_int(&w, "begin", r->begin);
    hpc_json_put_int(&w, "end", r->end);
    hpc_json_put_text(&w, "header", *r->header ? r->header : NULL);
    hpc_json_put_text(&w, "text", r->text);
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

/* ---- one text alone ------------------------------------------------------------------------- */

static void add_counts(hpc_loops_result *to, const hpc_loops_result *more)
{
    to->files_n += more->files_n;
    to->loops_n += more->loops_n;
    to->distinct_n += more->distinct_n;
    to->annotated_n += more->annotated_n;
    to->presumed_n += more->presumed_n;
    to->parallel_for_n += more->parallel_for_n;
    to->distinct_pairs_n += more->distinct_pairs_n;
    to->acc_n += more->acc_n;
}

int hpc_corpus_loops_text(hpc_buf *out, hpc_loops_result *counts, const char *path,
                          const char *text, size_t n)
{
    hpc_loops_result added = {.files_n = 1};
    loops_scratch s = {0};
    loops_tally tally = {0};
    hpc_buf records = {0};
    hpc_language lang = hpc_language_of(path, text, n);
    loops_record r,
        like = {.repository = "", .path = path, .licence = "", .language = (uint8_t)lang};
    bool fresh;
    int rc = HPC_OK;
    if (lang == HPC_LANGUAGE_NONE)
        TRY(hpc_fail(HPC_E_ARG,
                     "%s: the file name is not one of C, C++, CUDA, HIP, OpenCL or Fortran", path));
    TRY(loops_tally_init(&tally));
    TRY(loops_of_text(&records, &s, &added.loops_n, &like, text, n,
                      hpc_language_fixed_form(path, text, n)));
    for (size_t at = 0; loops_next(&r, &at, records.data, records.n);)
        TRY(loops_tally_add(&tally, &r, &fresh));
    for (size_t at = 0; loops_next(&r, &at, records.data, records.n);) {
        r.kind = (uint8_t)loops_tally_kind(&tally, &r);
        loops_json(out, &r, 0, 0);
    }
    TRY(out->failed);
    loops_tally_counts(&added, &tally);
    if (counts) add_counts(counts, &added);
out:
    loops_tally_release(&tally);
    hpc_buf_release(&records);
    loops_scratch_release(&s);
    return rc;
}
