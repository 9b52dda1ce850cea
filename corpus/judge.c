/*
 * judge.c: judges one file by all filters in the order of hpc_reason: cheap checks, and checks
 * that do not read the file, come first. The first reason is kept.
 *
 * It does not compare the file with others in the corpus.
 */
#include <stdio.h>
#include <string.h>

#include "corpus/harvest.h"

/* Files with a larger fraction of held-out 50-token shingles are dropped. */
static const double held_out_share = 0.05;

/* State while a file is judged. */
typedef struct hearing {
    corpus_record *out;
    corpus_judge *j;
    const corpus_harvest *h;
    const char *name; /* of the repository */
    const char *text; /* finally the text to store */
    size_t n;
} hearing;

void corpus_judge_release(corpus_judge *j)
{
    hpc_buf_release(&j->text);
    hpc_buf_release(&j->masked);
    hpc_tokens_release(&j->tokens);
    corpus_code_release(&j->code);
}

static int drop(hearing *x, hpc_reason reason, const char *detail)
{
    x->out->reason = (uint8_t)reason;
    snprintf(x->j->detail, sizeof x->j->detail, "%s", detail ? detail : "");
    x->out->detail = x->j->detail;
    return 1;
}

/* 1: dropped for its name or its path; 0: it must be read. */
static int judge_path(hearing *x)
{
    const hpc_sketch *sketch = x->h->sketch;
    const char *path = x->out->path, *pattern = NULL;
    if (sketch && corpus_sketch_repository(sketch, x->name))
        return drop(x, HPC_REASON_HELD_OUT_REPOSITORY, x->name);
    if (sketch && corpus_sketch_path(sketch, x->name, path, &pattern))
        return drop(x, HPC_REASON_HELD_OUT_PATH, pattern);
    const char *vendored = corpus_vendored(path, x->name);
    return vendored ? drop(x, HPC_REASON_VENDORED, vendored) : 0;
}

static int read_text(hearing *x, hpc_git *g)
{
    size_t bytes = 0;
    hpc_buf *text = &x->j->text;
    int rc = hpc_git_read(text, &bytes, g, &x->out->id, (size_t)x->h->options->file_bytes);
    if (rc < 0) return rc;
    if (rc == HPC_GIT_TOO_LARGE) {
        x->out->bytes = bytes;
        return drop(x, HPC_REASON_TOO_LARGE, NULL);
    }
    if (rc == HPC_GIT_ABSENT) return drop(x, HPC_REASON_ABSENT, NULL);
    if (rc == HPC_GIT_CORRUPT) return drop(x, HPC_REASON_CORRUPT, text->n ? text->data : NULL);
    x->text = text->data ? text->data : "";
    x->n = text->n;
    x->out->bytes = x->n;
    x->out->hash = hpc_hash_wide(x->text, x->n);
    return corpus_is_utf8(x->text, x->n) ? 0 : drop(x, HPC_REASON_NOT_UTF8, NULL);
}

static int lex(hearing *x)
{
    hpc_tokens *t = &x->j->tokens;
    int rc = hpc_lex(t, x->text, x->n, (hpc_language)x->out->language, x->out->fixed);
    return rc < 0 ? rc : corpus_code_of(&x->j->code, t);
}

/* The lexer has counted those before the last token. */
static uint32_t count_lines(const char *text, size_t n, const hpc_tokens *t)
{
    const hpc_token *last = t->n > 0 ? &t->item[t->n - 1] : NULL;
    uint32_t lines = last ? last->line - 1 : 0;
    const char *p = text + (last ? last->at : 0), *end = text + n;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
        lines++;
        p++;
    }
    return lines + (n > 0 && text[n - 1] != '\n');
}

static void describe(hearing *x)
{
    corpus_record *r = x->out;
    r->lines = count_lines(x->text, x->n, &x->j->tokens);
    r->tokens = (uint32_t)x->j->code.n;
    r->parallel = hpc_parallel_of(&x->j->tokens, x->text, (hpc_language)r->language);
}

/* Returns 1: dropped for its content or licence; 0: not dropped; negative: error. */
static int judge_content(hearing *x, const corpus_plan *p)
{
    hpc_reason reason = HPC_REASON_KEPT;
    corpus_record *r = x->out;
    corpus_judge *j = x->j;
    int rc = lex(x);
    if (rc < 0) return rc;
    describe(x);
    const char *why = corpus_worthless(&reason, r->path, x->text, x->n, &j->tokens);
    if (why) return drop(x, reason, why);
    corpus_licence_of_file(j->licence, x->text, &j->tokens);
    r->licence = j->licence[0] ? j->licence : corpus_plan_licence(p, r->path);
    if (!corpus_licence_allowed(r->licence, x->h->options->licences))
        return drop(x, HPC_REASON_LICENCE, r->licence[0] ? r->licence : "unknown");
    if (!x->h->sketch) return 0;
    corpus_held_out found = {.reason = HPC_REASON_KEPT};
    rc = corpus_sketch_content(&found, x->h->sketch, &r->id, &j->code, held_out_share, true);
    if (rc < 0) return rc;
    return found.reason == HPC_REASON_KEPT ? 0 : drop(x, found.reason, found.detail);
}

/* Masks secrets in the text to store, and signs the masked text. */
static int finish(hearing *x)
{
    int64_t masked = 0;
    int rc = HPC_OK;
    x->j->masked.n = 0;
    TRY(corpus_mask(&x->j->masked, &masked, x->text, x->n, &x->j->tokens));
    if (masked > 0) {
        x->text = x->j->masked.data;
        x->n = x->j->masked.n;
        TRY(lex(x));
        describe(x);
    }
    x->out->masked = (uint32_t)masked;
    x->out->stored_bytes = (uint32_t)x->n;
    corpus_sign(&x->out->signature, &x->j->code);
    return 1;
out:
    return rc;
}

int corpus_judge_file(corpus_record *out, const char **text, corpus_judge *j, hpc_git *g,
                      const corpus_harvest *h, const corpus_source *s, const corpus_plan *p,
                      int64_t entry)
{
    const char *path = corpus_plan_entry_path(p, entry);
    hearing x = {.out = out, .j = j, .h = h, .name = s->name};
    *out = (corpus_record){.id = p->entry[entry].id,
                           .path = path,
                           .licence = "",
                           .detail = "",
                           .language = (uint8_t)hpc_language_of_path(path),
                           .head = p->entry[entry].head != 0};
    *text = NULL;
    int rc = judge_path(&x);
    if (rc == 0) rc = read_text(&x, g);
    if (rc != 0) return rc;
    out->language = (uint8_t)hpc_language_of(path, x.text, x.n);
    if (out->language == HPC_LANGUAGE_NONE) return 0;
    out->fixed =
        out->language == HPC_LANGUAGE_FORTRAN && hpc_language_fixed_form(path, x.text, x.n);
    rc = judge_content(&x, p);
    if (rc != 0) return rc;
    rc = finish(&x);
    *text = x.text;
    return rc;
}
