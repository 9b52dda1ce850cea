/*
 * loader.c: batches rows of tokens from shards in an order that a few integers can resume.
 *
 * The source of the next row, and the row within it, are functions of the seed and of the rows
 * taken so far. Nothing is drawn ahead or remembered.
 */
#include <math.h>
#include <string.h>

#include "runtime/shard/shard.h"
#include "train/train.h"

typedef struct source {
    hpc_shards *shards;
    int64_t rows;   /* in a pass */
    double until;   /* the sum of shares of the sources up to and with this one */
    int64_t answer; /* columns; -1: not there, or not asked for */
    int64_t label;
} source;

struct hpc_loader {
    source *source;
    int64_t source_n;
    hpc_loader_options o;
    bool documents; /* a row is a document, not a piece of the stream */
    hpc_loader_state at;
    int32_t *document; /* PAIRS: room for the longest one */
};

static bool has_labels(const hpc_loader_options *o)
{
    return o->objective == HPC_OBJECTIVE_CLASSES || o->objective == HPC_OBJECTIVE_PAIRS;
}

/* ---- orders ------------------------------------------------------------------------------- */

/* A permutation of 0..n-1 that needs no table: a Feistel network over the next even power of two,
 * walked until it lands below n (fewer than four steps on average). */
static int64_t permute(int64_t x, int64_t n, uint64_t seed, uint32_t stream, uint32_t pass)
{
    enum { ROUNDS = 6 };
    int half = 1;
    while ((int64_t)1 << (2 * half) < n) half++;
    uint64_t mask = ((uint64_t)1 << half) - 1, v = (uint64_t)x;
    do {
        uint64_t l = v >> half, r = v & mask;
        for (uint64_t k = 0; k < ROUNDS; k++) {
            uint64_t mixed = l ^ (hpc_random_bits(seed, stream, pass, k << 32 | r) & mask);
            l = r;
            r = mixed;
        }
        v = l << half | r;
    } while (v >= (uint64_t)n);
    return (int64_t)v;
}

enum { DRAW_SOURCE = 0x10000 }; /* streams: 0.. sources' orders, then the choice between them */

static int64_t choose_source(const hpc_loader *l)
{
    if (l->o.ordered) { /* one after the other */
        int64_t s = 0, all = hpc_loader_rows(l), row;
        hpc_assert(all > 0); /* by check_source */
        row = l->at.rows % all;
        while (s + 1 < l->source_n && row >= l->source[s].rows) row -= l->source[s++].rows;
        return s;
    }
    uint64_t at = (uint64_t)l->at.rows;
    double x =
        hpc_random_bits(l->o.seed, DRAW_SOURCE, (uint32_t)(at >> 32), at & 0xffffffff) * 0x1p-32;
    int64_t s = 0;
    while (s + 1 < l->source_n && x >= l->source[s].until) s++;
    return s;
}

/* The next row: a source, and which of its rows. */
static int64_t next_row(int64_t *row, hpc_loader *l)
{
    int64_t s = choose_source(l), taken = l->at.taken[s]++, n = l->source[s].rows;
    l->at.rows++;
    *row = l->o.ordered ? taken % n
                        : permute(taken % n, n, l->o.seed, (uint32_t)s, (uint32_t)(taken / n));
    return s;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int check_source(const hpc_loader *l, const source *s, const char *path)
{
    bool answer = l->o.objective == HPC_OBJECTIVE_ANSWER;
    if (l->documents && (answer ? s->answer : s->label) < 0)
        return hpc_fail(HPC_E_ARG,
                        "%s: its task is %s and it has no column '%s', which this objective needs",
                        path, hpc_shards_spec(s->shards)->task, answer ? "answer" : "label");
    if (s->rows > 0) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "%s: %lld tokens do not fill one row of %lld", path,
                    (long long)hpc_shards_tokens_n(s->shards), (long long)l->o.length);
}

static int check_labels(const hpc_loader *l, const source *s, const char *path)
{
    double most = (double)l->o.classes - 1;
    if (s->label < 0 || l->o.classes == 0) return HPC_OK;
    for (int64_t i = 0; i < s->rows; i++) {
        double label = hpc_shards_value(s->shards, s->label, i);
        if (!(label >= -1 && label <= most))
            return hpc_fail(HPC_E_ARG,
                            "%s: the label of document %lld is %g; with classes=%lld, labels are 0 "
                            "to %g, or -1 for none",
                            path, (long long)i, label, (long long)l->o.classes, most);
    }
    return HPC_OK;
}

/* Document i of the source, in the loader's room. */
static int64_t read_document(hpc_loader *l, const source *s, int64_t i)
{
    hpc_document d = hpc_shards_document(s->shards, i);
    for (int64_t k = 0; k < d.n; k++) l->document[k] = hpc_document_token(&d, k);
    return d.n;
}

static int check_changes(hpc_loader *l, const source *s, const char *path)
{
    hpc_compare c;
    for (int64_t i = 0; i < s->rows; i++)
        if (!hpc_compare_find(&c, l->document, read_document(l, s, i), &l->o.marks))
            return hpc_fail(HPC_E_ARG,
                            "%s: document %lld lacks the marks of a change: objective=pairs needs "
                            "task perf, this is task %s",
                            path, (long long)i, hpc_shards_spec(s->shards)->task);
    return HPC_OK;
}

/* Room for the longest document of all sources, once they are open. */
static int open_changes(hpc_loader *l)
{
    int64_t most = 1;
    int rc = HPC_OK;
    for (int64_t k = 0; k < l->source_n; k++)
        for (int64_t i = 0; i < l->source[k].rows; i++) {
            int64_t n = hpc_shards_document(l->source[k].shards, i).n;
            if (n > most) most = n;
        }
    l->document = hpc_alloc((size_t)most, sizeof *l->document);
    if (!l->document) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < l->source_n; k++)
        TRY(check_changes(l, &l->source[k], l->o.source[k].path));
out:
    return rc;
}

static int open_source(hpc_loader *l, int64_t k)
{
    source *s = &l->source[k];
    const char *path = l->o.source[k].path;
    hpc_hash128 first = k > 0 ? hpc_loader_tokenizer(l) : (hpc_hash128){0};
    const hpc_hash128 *want = l->o.tokenizer ? l->o.tokenizer : k > 0 ? &first : NULL;
    int rc;
    TRY(hpc_shards_open(&s->shards, path, want));
    s->answer = s->label = -1;
    if (l->documents) s->answer = hpc_shards_column(s->shards, "answer");
    if (has_labels(&l->o)) s->label = hpc_shards_column(s->shards, "label");
    /* A row of the stream also needs the next token, as a target. */
    s->rows =
        l->documents ? hpc_shards_n(s->shards) : (hpc_shards_tokens_n(s->shards) - 1) / l->o.length;
    TRY(check_source(l, s, path));
    TRY(check_labels(l, s, path));
    if (hpc_shards_spec(s->shards)->vocabulary != hpc_loader_vocabulary(l))
        TRY(hpc_fail(HPC_E_ARG, "%s has a vocabulary of %lld, but %s has %lld", path,
                     (long long)hpc_shards_spec(s->shards)->vocabulary, l->o.source[0].path,
                     (long long)hpc_loader_vocabulary(l)));
out:
    return rc;
}

static int check_weight(const hpc_loader *l, const hpc_loader_source *s)
{
    if (!isfinite(s->weight) || s->weight < 0)
        return hpc_fail(HPC_E_ARG, "%s: weight %g must be above 0", s->path, s->weight);
    if ((s->weight > 0) != (l->o.source[0].weight > 0))
        return hpc_fail(HPC_E_ARG,
                        "%s has a weight and %s has none: set it for all data sets, or for none",
                        s->weight > 0 ? s->path : l->o.source[0].path,
                        s->weight > 0 ? l->o.source[0].path : s->path);
    return HPC_OK;
}

static int share_out(hpc_loader *l)
{
    double sum = 0, so_far = 0;
    for (int64_t k = 0; k < l->source_n; k++) {
        double w = l->o.source[k].weight;
        int rc = check_weight(l, &l->o.source[k]);
        if (rc < 0) return rc;
        l->source[k].until = w > 0 ? w : (double)l->source[k].rows;
        sum += l->source[k].until;
    }
    for (int64_t k = 0; k < l->source_n; k++) {
        so_far += l->source[k].until / sum;
        l->source[k].until = so_far;
    }
    return HPC_OK;
}

int hpc_loader_open(hpc_loader **out, const hpc_loader_options *o)
{
    int rc = HPC_OK;
    *out = NULL;
    if (o->source_n < 1 || o->source_n > HPC_LOADER_SOURCES)
        return hpc_fail(HPC_E_ARG, "%lld data sets: expected 1 to %d", (long long)o->source_n,
                        HPC_LOADER_SOURCES);
    hpc_loader *l = hpc_alloc(1, sizeof *l);
    if (!l) return HPC_E_NOMEM;
    l->o = *o;
    l->documents = o->objective != HPC_OBJECTIVE_TOKENS;
    l->source = hpc_alloc((size_t)o->source_n, sizeof *l->source);
    if (!l->source) TRY(HPC_E_NOMEM);
    for (; l->source_n < o->source_n; l->source_n++) TRY(open_source(l, l->source_n));
    if (o->objective == HPC_OBJECTIVE_PAIRS) TRY(open_changes(l));
    TRY(share_out(l));
    *out = l;
    l = NULL;
out:
    hpc_loader_close(l);
    return rc;
}

void hpc_loader_close(hpc_loader *l)
{
    if (!l) return;
    /* A source that failed to open may also hold shards. */
    for (int64_t k = 0; l->source && k < l->o.source_n; k++) hpc_shards_close(l->source[k].shards);
    hpc_free(l->source);
    hpc_free(l->document);
    hpc_free(l);
}

int64_t hpc_loader_vocabulary(const hpc_loader *l)
{
    return hpc_shards_spec(l->source[0].shards)->vocabulary;
}

hpc_hash128 hpc_loader_tokenizer(const hpc_loader *l)
{
    return hpc_shards_spec(l->source[0].shards)->tokenizer;
}

int64_t hpc_loader_rows(const hpc_loader *l)
{
    int64_t n = 0;
    for (int64_t k = 0; k < l->source_n; k++) n += l->source[k].rows;
    return n;
}

int64_t hpc_loader_tokens(const hpc_loader *l)
{
    int64_t n = 0;
    for (int64_t k = 0; k < l->source_n; k++) n += hpc_shards_tokens_n(l->source[k].shards);
    return n;
}

uint64_t hpc_loader_hash(const hpc_loader *l)
{
    uint64_t h = 0;
    for (int64_t k = 0; k < l->source_n; k++) {
        uint64_t one = hpc_shards_hash(l->source[k].shards);
        h = hpc_hash(&one, sizeof one, h);
    }
    return h;
}

hpc_loader_state hpc_loader_tell(const hpc_loader *l)
{
    return l->at;
}

int hpc_loader_seek(hpc_loader *l, const hpc_loader_state *s)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < HPC_LOADER_SOURCES; k++) {
        if (s->taken[k] < 0 || (k >= l->source_n && s->taken[k] > 0))
            return hpc_fail(HPC_E_ARG, "a position in %lld data sets, but there are %lld",
                            (long long)k + 1, (long long)l->source_n);
        sum += s->taken[k];
    }
    if (sum != s->rows)
        return hpc_fail(HPC_E_FORMAT, "%lld rows given, but %lld needed", (long long)s->rows,
                        (long long)sum);
    l->at = *s;
    return HPC_OK;
}

/* ---- batches --------------------------------------------------------------------------------- */

int64_t hpc_loader_documents(const hpc_loader_options *o)
{
    if (o->objective == HPC_OBJECTIVE_PAIRS) return 2;
    return o->documents < o->length ? o->documents : o->length - 1;
}

int64_t hpc_loader_sequences(const hpc_loader_options *o, int64_t rows, int64_t parts)
{
    return rows * hpc_loader_documents(o) + parts * (o->objective == HPC_OBJECTIVE_PAIRS ? 2 : 1);
}

int hpc_batch_create(hpc_batch **out, const hpc_loader_options *o, int64_t rows, int64_t parts)
{
    *out = NULL;
    hpc_assert(parts > 0 && rows % parts == 0);
    hpc_batch *b = hpc_alloc(1, sizeof *b);
    if (!b) return HPC_E_NOMEM;
    size_t n = (size_t)(rows * o->length);
    b->rows = rows;
    b->length = o->length;
    b->documents = hpc_loader_documents(o);
    b->parts = parts;
    b->sequences = hpc_loader_sequences(o, rows, parts);
    b->tokens = hpc_alloc(n, sizeof *b->tokens);
    b->targets = hpc_alloc(n, sizeof *b->targets);
    b->pos = hpc_alloc(n, sizeof *b->pos);
    b->start = hpc_alloc((size_t)b->sequences + 1, sizeof *b->start);
    bool failed = !b->tokens || !b->targets || !b->pos || !b->start;
    if (has_labels(o)) {
        b->pooled = hpc_alloc((size_t)b->sequences, sizeof *b->pooled);
        b->classes = hpc_alloc((size_t)b->sequences, sizeof *b->classes);
        failed = failed || !b->pooled || !b->classes;
    }
    if (failed) {
        hpc_batch_free(b);
        return HPC_E_NOMEM;
    }
    *out = b;
    return HPC_OK;
}

void hpc_batch_free(hpc_batch *b)
{
    if (!b) return;
    hpc_free(b->tokens);
    hpc_free(b->targets);
    hpc_free(b->pos);
    hpc_free(b->start);
    hpc_free(b->pooled);
    hpc_free(b->classes);
    hpc_free(b);
}

/* One more sequence, of the tokens from `at` on to `end`. */
static void begin_sequence(hpc_batch *b, int64_t at)
{
    b->start[b->start_n++] = (int32_t)at;
}

/* Fills a row with a piece of the stream. A document's last token has no target. Documents beyond
 * the limit of a row share the last sequence. */
static void fill_stream(hpc_batch *b, const source *s, int64_t row, int64_t base)
{
    int64_t length = b->length, first = row * length, begin, used = 0;
    int64_t i = hpc_shards_find(&begin, s->shards, first);
    hpc_document d = hpc_shards_document(s->shards, i);
    int32_t pos = 0;
    for (int64_t k = 0; k < length; k++) {
        int64_t in = first + k - begin;
        while (in >= d.n) {
            begin += d.n;
            in -= d.n;
            d = hpc_shards_document(s->shards, ++i);
        }
        if (k == 0 || (in == 0 && used < b->documents)) {
            begin_sequence(b, base + k);
            used++;
            pos = 0;
        }
        b->tokens[base + k] = hpc_document_token(&d, in);
        b->targets[base + k] = in + 1 < d.n ? hpc_document_token(&d, in + 1) : -1;
        b->counted += in + 1 < d.n;
        b->pos[base + k] = pos++;
    }
    b->tokens_n += length;
}

/* Fills a row with one document, or its end if it is too long; returns the next position. If a
 * label is learnt, the answer reveals it and is omitted. */
static int64_t fill_document(hpc_batch *b, const source *s, int64_t i, int64_t base)
{
    hpc_document d = hpc_shards_document(s->shards, i);
    int64_t answer = s->answer < 0 ? d.n : (int64_t)hpc_shards_value(s->shards, s->answer, i);
    int64_t all = b->classes && answer < d.n ? answer : d.n;
    int64_t n = all < b->length ? all : b->length, skip = all - n;
    if (n <= 0) return base;
    for (int64_t k = 0; k < n; k++) {
        int64_t next = skip + k + 1;
        bool counts = !b->classes && next < d.n && next >= answer;
        b->tokens[base + k] = hpc_document_token(&d, skip + k);
        b->targets[base + k] = counts ? hpc_document_token(&d, next) : -1;
        b->counted += counts;
        b->pos[base + k] = (int32_t)k;
    }
    double label = b->classes ? hpc_shards_value(s->shards, s->label, i) : -1;
    if (b->classes && label >= 0) {
        b->pooled[b->start_n] = (int32_t)(base + n - 1);
        b->classes[b->start_n] = (int32_t)label;
        b->counted++;
    }
    begin_sequence(b, base);
    b->tokens_n += n;
    return base + n;
}

/* Fills in a change as two adjacent sequences, pair number `pair` of the batch; returns the next
 * free position. */
static int64_t fill_pair(hpc_batch *b, int64_t pair, hpc_loader *l, const source *s, int64_t i,
                         int64_t base)
{
    int64_t n = read_document(l, s, i);
    double label = hpc_shards_value(s->shards, s->label, i);
    hpc_compare c;
    hpc_assert(b->pooled && b->classes);
    if (!hpc_compare_find(&c, l->document, n, &l->o.marks)) return base; /* not by open_changes */
    hpc_compare_fit(&c, l->document, b->length);
    for (int side = 0; side < 2; side++) {
        n = hpc_compare_write(b->tokens + base, &c, l->document, side);
        for (int64_t k = 0; k < n; k++) {
            b->targets[base + k] = -1;
            b->pos[base + k] = (int32_t)k;
        }
        begin_sequence(b, base);
        base += n;
        b->tokens_n += n;
        if (label >= 0) b->pooled[2 * pair + side] = (int32_t)(base - 1);
    }
    if (label >= 0) b->classes[pair] = (int32_t)label;
    b->counted += label >= 0;
    return base;
}

/* Pads with sequences that do not count, in as many pieces as rows need and capacity allows. */
static void pad(hpc_batch *b, int64_t from, int64_t end, int64_t room)
{
    int64_t left = end - from, pieces = (left + b->length - 1) / b->length;
    if (left == 0) return;
    if (pieces > room) pieces = room;
    int64_t piece = (left + pieces - 1) / pieces;
    for (int64_t k = 0; k < left; k++) {
        if (k % piece == 0) begin_sequence(b, from + k);
        b->tokens[from + k] = 0;
        b->targets[from + k] = -1;
        b->pos[from + k] = (int32_t)(k % piece % b->length);
    }
}

/* The next n rows from token `at` on; where they end. */
static int64_t fill_rows(hpc_batch *b, hpc_loader *l, int64_t at, int64_t n)
{
    const int64_t first = at / b->length;
    for (int64_t k = 0, row; k < n; k++) {
        const source *s = &l->source[next_row(&row, l)];
        if (l->o.objective == HPC_OBJECTIVE_PAIRS) {
            at = fill_pair(b, first + k, l, s, row, at);
        } else if (l->documents) {
            at = fill_document(b, s, row, at);
        } else {
            fill_stream(b, s, row, at);
            at += b->length;
        }
    }
    return at;
}

int hpc_loader_next(hpc_batch *b, hpc_loader *l, int64_t rows)
{
    const int64_t part = b->rows / b->parts, room = b->sequences / b->parts;
    hpc_assert(rows >= 0 && rows <= b->rows);
    b->start_n = 0;
    b->counted = b->tokens_n = 0;
    for (int64_t k = 0; b->classes && k < b->sequences; k++) b->pooled[k] = b->classes[k] = -1;
    for (int64_t p = 0; p < b->parts; p++) {
        int64_t first = p * part, left = rows - first, begun = b->start_n;
        int64_t end = fill_rows(b, l, first * b->length, left < part ? left : part);
        pad(b, end, (first + part) * b->length, room - (b->start_n - begun));
    }
    b->start[b->start_n++] = (int32_t)(b->rows * b->length);
    return HPC_OK;
}
