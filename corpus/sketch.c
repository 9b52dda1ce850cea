/*
 * sketch.c: reads a sketch and checks names, paths and texts against it.
 *
 * Opening reads and verifies the whole sketch, so lookups cannot fail or read out of bounds.
 * sketch_make.c makes sketches.
 */
#include <stdio.h>
#include <string.h>

#include "corpus/sketch.h"

struct hpc_sketch {
    hpc_file_view view;
    hpc_hash128 hash;
    corpus_held_list list;
    const uint8_t *ids, *streams;
    hpc_fuse fuse;
    uint8_t *slots; /* of the filter */
    int64_t count[SKETCH_COUNTS];
};

/* ---- opening -------------------------------------------------------------------------- */

static int check_header(hpc_sketch *s, const char *path)
{
    const uint8_t *d = s->view.data;
    uint64_t lexer = 0;
    if (s->view.bytes < SKETCH_HEADER + SKETCH_HASH || memcmp(d, SKETCH_MAGIC, 8) != 0)
        return hpc_fail(HPC_E_FORMAT, "%s is not a sketch of held-out content", path);
    uint32_t version = hpc_get32(d + SKETCH_AT_VERSION);
    if (version != SKETCH_VERSION)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "%s has format version %u, this program reads version %d: rebuild it with "
                        "`hpccoder corpus sketch`",
                        path, version, SKETCH_VERSION);
    size_t body = s->view.bytes - SKETCH_HASH;
    s->hash = hpc_hash_wide(d, body);
    if (!hpc_same_hash(s->hash, hpc_get_hash(d + body)))
        return hpc_fail(HPC_E_FORMAT, "%s is damaged: its checksum is wrong", path);
    int rc = hpc_lexer_hash(&lexer);
    if (rc >= 0 && lexer != hpc_get64(d + SKETCH_AT_LEXER))
        rc = hpc_fail(HPC_E_UNSUPPORTED,
                      "%s was built with a different lexer and would find nothing: rebuild it with "
                      "`hpccoder corpus sketch`",
                      path);
    return rc;
}

/* Section of n units of `size` bytes, from *at on; NULL: it exceeds the file. */
static const uint8_t *section(const hpc_sketch *s, size_t *at, uint64_t n, size_t size)
{
    size_t left = s->view.bytes - SKETCH_HASH - *at;
    if (n > left / size) return NULL;
    const uint8_t *found = s->view.data + *at;
    *at += (size_t)n * size;
    return found;
}

static bool ascending(const uint8_t *a, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (hpc_get64(a + 8 * i) <= hpc_get64(a + 8 * (i - 1))) return false;
    return true;
}

static int check_sections(hpc_sketch *s, const char *path)
{
    const uint8_t *d = s->view.data, *list;
    size_t at = SKETCH_HEADER;
    for (int i = 0; i < SKETCH_COUNTS; i++) {
        uint64_t x = hpc_get64(d + SKETCH_AT_COUNTS + 8 * i);
        if (x > INT64_MAX) goto bad;
        s->count[i] = (int64_t)x;
    }
    uint64_t log2 = hpc_get64(d + SKETCH_AT_FILTER + 8);
    uint64_t segments = hpc_get64(d + SKETCH_AT_FILTER + 16);
    if (log2 > 63 || segments > UINT32_MAX) goto bad;
    s->fuse = (hpc_fuse){.seed = hpc_get64(d + SKETCH_AT_FILTER),
                         .segment_log2 = (uint32_t)log2,
                         .segments = (uint32_t)segments,
                         .bits = SKETCH_BITS};
    uint64_t bytes = hpc_fuse_bytes(&s->fuse);
    if ((bytes == 0) != (segments == 0)) goto bad;
    list = section(s, &at, (uint64_t)s->count[SKETCH_LIST_BYTES], 1);
    s->ids = section(s, &at, (uint64_t)s->count[SKETCH_IDS], 8);
    s->streams = section(s, &at, (uint64_t)s->count[SKETCH_STREAMS], 8);
    s->fuse.slots = section(s, &at, bytes, 1);
    if (!list || !s->ids || !s->streams || !s->fuse.slots || at != s->view.bytes - SKETCH_HASH)
        goto bad;
    if (!ascending(s->ids, s->count[SKETCH_IDS]) ||
        !ascending(s->streams, s->count[SKETCH_STREAMS]))
        goto bad;
    if (bytes == 0) s->fuse.slots = NULL;
    size_t n = strnlen((const char *)list, (size_t)s->count[SKETCH_LIST_BYTES]);
    return corpus_held_list_parse(&s->list, (const char *)list, n, path);
bad:
    return hpc_fail(HPC_E_FORMAT, "%s: sizes in its header do not fit the file", path);
}

/* Copies the filter to huge pages: lookups are random and take half the time there. */
static int copy_slots(hpc_sketch *s)
{
    enum { HUGE_PAGE = 2 << 20 };
    size_t bytes = (size_t)hpc_fuse_bytes(&s->fuse);
    if (!s->fuse.slots) return HPC_OK;
    s->slots = hpc_alloc_aligned(bytes + HPC_FUSE_PAD, 1, HUGE_PAGE);
    if (!s->slots) return HPC_E_NOMEM;
    memcpy(s->slots, s->fuse.slots, bytes);
    s->fuse.slots = s->slots;
    return HPC_OK;
}

int hpc_sketch_open(hpc_sketch **out, const char *path)
{
    int rc;
    hpc_sketch *s = hpc_alloc(1, sizeof *s);
    *out = NULL;
    if (!s) return HPC_E_NOMEM;
    TRY(hpc_file_open(&s->view, path));
    TRY(check_header(s, path));
    TRY(check_sections(s, path));
    TRY(copy_slots(s));
    *out = s;
    return HPC_OK;
out:
    hpc_sketch_close(s);
    return rc;
}

void hpc_sketch_close(hpc_sketch *s)
{
    if (!s) return;
    corpus_held_list_release(&s->list);
    hpc_free(s->slots);
    hpc_file_close(&s->view);
    hpc_free(s);
}

hpc_hash128 hpc_sketch_hash(const hpc_sketch *s)
{
    return s->hash;
}

void hpc_sketch_describe(hpc_sketch_facts *out, const hpc_sketch *s)
{
    *out = (hpc_sketch_facts){.names_n = s->list.names_n,
                              .patterns_n = s->list.patterns_n,
                              .files_n = s->count[SKETCH_FILES],
                              .foreign_n = s->count[SKETCH_FOREIGN],
                              .unread_n = s->count[SKETCH_UNREAD],
                              .streams_n = s->count[SKETCH_STREAMS],
                              .shingles_n = s->count[SKETCH_SHINGLES],
                              .bytes = (int64_t)s->view.bytes,
                              .history = s->count[SKETCH_HISTORY] != 0};
}

/* ---- asking --------------------------------------------------------------------------- */

bool corpus_sketch_repository(const hpc_sketch *s, const char *name)
{
    return corpus_held_list_has(&s->list, name);
}

bool corpus_sketch_path(const hpc_sketch *s, const char *name, const char *path,
                        const char **pattern)
{
    const char *found = corpus_held_list_match(&s->list, name, path);
    if (pattern) *pattern = found;
    return found != NULL;
}

static bool is_among(const uint8_t *a, int64_t n, uint64_t x)
{
    int64_t lo = 0, hi = n;
    while (lo < hi) {
        int64_t middle = lo + (hi - lo) / 2;
        if (hpc_get64(a + 8 * middle) < x)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < n && hpc_get64(a + 8 * lo) == x;
}

/* Bit i of the result: the filter has key[i]. The filter exceeds the nearer caches, so all slots
 * are prefetched before the first is read. */
static uint64_t find_keys(const hpc_fuse *f, const uint64_t *key, int n)
{
    _Static_assert((int)CORPUS_PASSAGE_MOST <= 64, "one bit per key");
    hpc_fuse_at place[CORPUS_PASSAGE_MOST];
    uint64_t found = 0;
    for (int i = 0; i < n; i++) {
        place[i] = hpc_fuse_place(f, key[i]);
        for (int k = 0; k < 3; k++) __builtin_prefetch(hpc_fuse_byte(f, place[i].at[k]));
    }
    for (int i = 0; i < n; i++) found |= (uint64_t)(hpc_fuse_value(f, &place[i]) == 0) << i;
    return found;
}

static void say(corpus_held_out *out, hpc_reason reason, const char *detail)
{
    if (out->reason != HPC_REASON_KEPT) return;
    out->reason = reason;
    snprintf(out->detail, sizeof out->detail, "%s", detail);
}

/* The filter accepts one foreign window in 16. Copied code makes long runs of accepted windows,
 * foreign code short ones. A window counts as found in a run of at least RUN, which one foreign
 * window in 17,000 is. A text that is too short for RUN windows counts as found if all are
 * accepted, as one foreign text in 16 with a single window is. */
enum { RUN = 4, SHORT = CORPUS_HELD_OUT_SHINGLE + RUN - 1 };
typedef struct tally {
    int64_t asked, found, run; /* run: accepted windows that end with the last one */
} tally;

static void tally_add(tally *t, uint64_t accepted, int n)
{
    for (int i = 0; i < n; i++, accepted >>= 1) {
        t->run = accepted & 1 ? t->run + 1 : 0;
        t->found += t->run > RUN ? 1 : t->run == RUN ? RUN : 0;
    }
    t->asked += n;
}

static void count_windows(tally *out, const hpc_fuse *f, const corpus_code *c)
{
    uint64_t key[CORPUS_PASSAGE_MOST];
    corpus_passage p;
    int n;
    *out = (tally){0};
    if (!f->slots) return;
    corpus_passage_start(&p, c);
    while ((n = corpus_passage_next(key, &p)) >= 0) tally_add(out, find_keys(f, key, n), n);
    if (c->n < SHORT && out->run == out->asked) out->found = out->asked;
}

/* A sample of pairs of consecutive windows decides for most files. A pair is accepted if both of
 * its windows are: one foreign pair in 256. A run of RUN windows has RUN - 1 pairs, so a file at
 * the limit has at least EXPECTED accepted pairs in the sample, and one such file in 400,000 has no
 * more than ALLOWED. A foreign file has two or three; 19 in 20 have no more than ALLOWED, and the
 * others are counted in full. All pairs of a held-out file are accepted. */
enum { EXPECTED = 24, ALLOWED = 5, SAMPLE_MOST = 1024 };

static bool sample_is_clean(const hpc_fuse *f, const corpus_code *c, double limit)
{
    uint64_t key[2 * SAMPLE_MOST];
    const uint64_t first = UINT64_MAX / 3; /* the even bits */
    double least = EXPECTED * RUN / (RUN - 1.0) / (limit > 1e-3 ? limit : 1e-3);
    int64_t sample = (int64_t)(1.25 * least); /* some windows do not count */
    if (sample > SAMPLE_MOST || c->n < 2 * sample || !f->slots) return false;
    int64_t pairs = corpus_passage_sample(key, c, sample), found = 0;
    for (int64_t k = 0; k < 2 * pairs; k += CORPUS_PASSAGE_MOST) {
        int64_t n = 2 * pairs - k < CORPUS_PASSAGE_MOST ? 2 * pairs - k : CORPUS_PASSAGE_MOST;
        uint64_t accepted = find_keys(f, key + k, (int)n);
        found += __builtin_popcountll(accepted & accepted >> 1 & first);
    }
    return found <= ALLOWED && (double)pairs >= least;
}

int corpus_sketch_content(corpus_held_out *out, const hpc_sketch *s, const hpc_git_id *id,
                          const corpus_code *c, double limit, bool quick)
{
    char text[96];
    tally w;
    *out = (corpus_held_out){.reason = HPC_REASON_KEPT};
    if (id && is_among(s->ids, s->count[SKETCH_IDS], hpc_get64(id->byte)))
        say(out, HPC_REASON_HELD_OUT_HASH, "the git id of a held-out file");
    if (quick && sample_is_clean(&s->fuse, c, limit)) return HPC_OK;
    count_windows(&w, &s->fuse, c);
    if (w.asked > 0) out->share = (double)w.found / (double)w.asked;
    if (c->n >= SKETCH_STREAM_LEAST &&
        is_among(s->streams, s->count[SKETCH_STREAMS], corpus_passage_stream(c)))
        say(out, HPC_REASON_HELD_OUT_HASH, "the code of a held-out file");
    snprintf(text, sizeof text, "%lld of %lld 50-token shingles", (long long)w.found,
             (long long)w.asked);
    if (out->share > limit) say(out, HPC_REASON_HELD_OUT_SHINGLES, text);
    return HPC_OK;
}
