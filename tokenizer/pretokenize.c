/*
 * pretokenize.c: splits text into words by the steps of a tokenizer.json. Each step splits every
 * piece of the previous one; words are emitted one by one without buffering.
 *
 * pattern.c, split_words.c and split_runs.c find matches. Text is valid UTF-8 here.
 */
#include "tokenizer/priv.h"

struct tokenizer_split_work {
    void *pattern;
};

static split_step *add_step(tokenizer_split *s, split_behaviour behaviour, bool invert,
                            const char *where)
{
    if (s->n == SPLIT_STEPS_MAX) {
        hpc_fail(HPC_E_UNSUPPORTED, "%.200s: more than %d steps of splitting", where,
                 SPLIT_STEPS_MAX);
        return NULL;
    }
    split_step *step = &s->step[s->n];
    *step = (split_step){.unicode = s->unicode, .behaviour = behaviour, .invert = invert};
    return step;
}

int tokenizer_split_regex(tokenizer_split *s, const char *pattern, split_behaviour behaviour,
                          bool invert, const char *where)
{
    split_step *step = add_step(s, behaviour, invert, where);
    if (!step) return HPC_E_UNSUPPORTED;
    if (!s->known || !tokenizer_split_known(step, pattern)) {
        int rc = tokenizer_pattern_compile(step, pattern, false, where);
        if (rc < 0) return rc;
    }
    if (behaviour != SPLIT_ISOLATED || invert) step->keeps = step->cuts = false;
    s->n++;
    return 0;
}

int tokenizer_split_literal(tokenizer_split *s, const char *text, split_behaviour behaviour,
                            bool invert, const char *where)
{
    split_step *step = add_step(s, behaviour, invert, where);
    if (!step) return HPC_E_UNSUPPORTED;
    int rc = tokenizer_pattern_compile(step, text, true, where);
    if (rc == 0) s->n++;
    return rc;
}

static int find_class(size_t *begin, size_t *end, const split_step *s, const char *text, size_t n,
                      size_t at, void *work)
{
    (void)work;
    for (size_t bytes; at < n; at += bytes) {
        uint32_t point = tokenizer_point(text + at, &bytes);
        if (!(tokenizer_class(s->unicode, point) & s->class)) continue;
        *begin = at;
        *end = at + bytes;
        return 1;
    }
    return 0;
}

int tokenizer_split_class(tokenizer_split *s, unsigned class, split_behaviour behaviour,
                          const char *where)
{
    split_step *step = add_step(s, behaviour, false, where);
    if (!step) return HPC_E_UNSUPPORTED;
    step->find = find_class;
    step->class = class;
    /* A newline is in none of the classes, so no match is near the place of a cut. */
    step->keeps = behaviour == SPLIT_ISOLATED || behaviour == SPLIT_CONTIGUOUS;
    s->n++;
    return 0;
}

void tokenizer_split_release(tokenizer_split *s)
{
    for (int i = 0; i < s->n; i++) tokenizer_pattern_release(&s->step[i]);
    s->n = 0;
}

int tokenizer_split_work_create(tokenizer_split_work **out, const tokenizer_split *s)
{
    int rc = 0;
    bool patterns = false;
    tokenizer_split_work *w = hpc_alloc(1, sizeof *w);
    *out = NULL;
    if (!w) return HPC_E_NOMEM;
    for (int i = 0; i < s->n; i++) patterns = patterns || s->step[i].code;
    if (patterns) TRY(tokenizer_pattern_work_create(&w->pattern));
    *out = w;
    w = NULL;
out:
    tokenizer_split_work_free(w);
    return rc;
}

void tokenizer_split_work_free(tokenizer_split_work *w)
{
    if (!w) return;
    tokenizer_pattern_work_free(w->pattern);
    hpc_free(w);
}

/* ---- one text ------------------------------------------------------------------------ */

typedef struct run {
    const tokenizer_split *split;
    tokenizer_split_work *work;
    int (*word)(void *user, const char *text, size_t n);
    void *user;
} run;

/* A pending piece that the next text may extend. */
typedef struct waiting {
    size_t begin, end;
    bool some, match; /* match: the last part was a match */
} waiting;

static int cut_piece(const run *r, int k, const char *text, size_t n);

static int give(const run *r, int k, const char *text, size_t begin, size_t end)
{
    return end > begin ? cut_piece(r, k + 1, text + begin, end - begin) : 0;
}

static bool joins(split_behaviour behaviour, const waiting *w, bool match)
{
    switch (behaviour) {
    case SPLIT_CONTIGUOUS: return match == w->match;
    case SPLIT_MERGED_PREVIOUS: return match && !w->match;
    case SPLIT_MERGED_NEXT: return !match && w->match;
    case SPLIT_ISOLATED:
    case SPLIT_REMOVED: break;
    }
    return false;
}

static int part(const run *r, int k, waiting *w, const char *text, size_t begin, size_t end,
                bool match)
{
    const split_step *s = &r->split->step[k];
    match ^= s->invert;
    if (s->behaviour == SPLIT_ISOLATED) return give(r, k, text, begin, end);
    if (s->behaviour == SPLIT_REMOVED) return match ? 0 : give(r, k, text, begin, end);
    if (w->some && joins(s->behaviour, w, match)) {
        w->end = end;
        w->match = match;
        return 0;
    }
    int rc = w->some ? give(r, k, text, w->begin, w->end) : 0;
    *w = (waiting){.begin = begin, .end = end, .some = true, .match = match};
    return rc;
}

/* Recursion is as deep as there are steps. */
static int cut_piece(const run *r, int k, const char *text, size_t n)
{
    int rc = 0;
    if (k == r->split->n) return r->word(r->user, text, n);
    const split_step *s = &r->split->step[k];
    waiting w = {0};
    size_t at = 0, done = 0, begin, end, bytes;
    bool any = false; /* a match ended at `done` */
    while (at <= n) {
        TRY(s->find(&begin, &end, s, text, n, at, r->work->pattern));
        if (rc == 0) break;
        if (begin == end && any && end == done) { /* an empty match directly after a match: skip */
            if (at == n) break;
            tokenizer_point(text + at, &bytes);
            at += bytes;
            continue;
        }
        if (begin > done) TRY(part(r, k, &w, text, done, begin, false));
        TRY(part(r, k, &w, text, begin, end, true));
        at = done = end;
        any = true;
    }
    if (done < n) TRY(part(r, k, &w, text, done, n, false));
    rc = w.some ? give(r, k, text, w.begin, w.end) : 0;
out:
    return rc;
}

int tokenizer_split_run(const tokenizer_split *s, tokenizer_split_work *w, const char *text,
                        size_t n, int (*word)(void *user, const char *text, size_t n), void *user)
{
    const run r = {.split = s, .work = w, .word = word, .user = user};
    return n > 0 ? cut_piece(&r, 0, text, n) : 0;
}

bool tokenizer_split_cut(const tokenizer_split *s)
{
    for (int i = 0; i < s->n; i++) {
        if (s->step[i].cuts) return true;
        if (!s->step[i].keeps) return false;
    }
    return false;
}
