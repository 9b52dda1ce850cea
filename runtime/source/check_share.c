/*
 * check_share.c: sharing of parsed standard headers between files. Runs in the libclang
 * process.
 *
 * A shared unit is a generated text that includes a set of standard headers, which
 * libclang keeps in memory as a preamble. For each file the text continues with
 * stand-in declarations and an #include of the file. The preamble stays valid for all
 * files.
 *
 * Building a preamble costs more than parsing its headers once. The headers that two
 * files have in common get one when files have spent as much time parsing headers
 * outside of any preamble.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/source/check_share.h"

enum { UNITS_MOST = 24, SEEN_MOST = 256 };

void check_share_init(check_share *s, const hpc_clang *table, const char *program)
{
    *s = (check_share){.table = table};
    /* libclang keeps no preamble of a file that does not exist; the text is not read. */
    snprintf(s->path, sizeof s->path, "%s", program);
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* A path that an #include can name. */
static bool is_includable(const char *path)
{
    return path[0] == '/' && strpbrk(path, "\"\\\n\r") == NULL;
}

/* The texts as libclang sees them: ours first, then the file; names are declared in ours. */
static size_t put_texts(hpc_clang_text out[CHECK_TEXTS_MOST], check_share *s,
                        const check_shared *shared, const check_texts *t, bool with_file)
{
    s->main.n = 0;
    check_headers_text(&s->main, &shared->set);
    hpc_buf_text(&s->main, ";\n"); /* the preamble ends where something else than an #include is */
    if (with_file) hpc_buf_add(&s->main, t->item[1].text, t->item[1].n);
    if (with_file) hpc_buf_printf(&s->main, "\n#include \"%s\"\n", t->item[0].path);
    out[0] = (hpc_clang_text){s->path, s->main.data, s->main.n};
    for (size_t k = 0; k < t->n; k++) out[k + 1] = t->item[k];
    out[2].text = "";
    out[2].n = 0;
    return t->n + 1;
}

/* ---- units ---------------------------------------------------------------------------------- */

static bool refuse(const hpc_clang_issue *issue, void *user)
{
    (void)issue;
    *(bool *)user = true;
    return false;
}

static void close_shared(check_share *s, check_shared *shared)
{
    s->table->close(shared->unit);
    shared->unit = NULL;
    s->open_n--;
}

static void make_room(check_share *s)
{
    check_shared *oldest = NULL;
    for (int64_t k = 0; k < s->n; k++) {
        check_shared *e = &s->item[k];
        if (e->unit && !e->taken && (!oldest || e->used < oldest->used)) oldest = e;
    }
    if (s->open_n >= UNITS_MOST && oldest) close_shared(s, oldest);
}

/* Headers that bring errors are not shared: the errors would be in none of the files. */
static void open_shared(check_share *s, check_shared *shared, const check_texts *t)
{
    hpc_clang_text all[CHECK_TEXTS_MOST];
    char error[HPC_CLANG_ERROR_BYTES];
    make_room(s);
    const size_t n = put_texts(all, s, shared, t, false);
    shared->broken = true;
    if (s->main.failed ||
        s->table->open(&shared->unit, &s->kept, all, n, t->flags, true, true, error) < 0)
        return;
    s->open_n++;
    shared->lost_ms = 0;
    shared->broken = false;
    s->table->issues(shared->unit, refuse, &shared->broken);
    if (shared->broken) close_shared(s, shared);
}

/* ---- the choice ----------------------------------------------------------------------------- */

static check_shared *best_within(check_share *s, uint64_t flags, const check_headers *set)
{
    check_shared *best = NULL;
    for (int64_t k = 0; k < s->n; k++) {
        check_shared *e = &s->item[k];
        if (e->flags != flags || !e->unit || e->taken || !check_headers_within(&e->set, set))
            continue;
        if (!best || check_headers_ms(&e->set) > check_headers_ms(&best->set)) best = e;
    }
    return best;
}

/* The most that a file has in common with one before it. */
static check_headers most_common(check_share *s, uint64_t flags, const check_headers *set)
{
    check_headers best = {0};
    for (int64_t k = 0; k < s->seen_n; k++) {
        if (s->seen[k].flags != flags) continue;
        const check_headers c = check_headers_common(&s->seen[k].set, set);
        if (check_headers_ms(&c) > check_headers_ms(&best)) best = c;
    }
    return best;
}

static void add_seen(check_share *s, uint64_t flags, const check_headers *set)
{
    for (int64_t k = 0; k < s->seen_n; k++)
        if (s->seen[k].flags == flags && memcmp(&s->seen[k].set, set, sizeof *set) == 0) return;
    if (s->seen_n >= SEEN_MOST ||
        hpc_grow(&s->seen, &s->seen_cap, s->seen_n + 1, sizeof *s->seen) < 0)
        return;
    s->seen[s->seen_n++] = (check_seen){flags, *set};
}

/* NULL: memory is short. */
static check_shared *entry_of(check_share *s, uint64_t flags, const check_headers *set)
{
    for (int64_t k = 0; k < s->n; k++)
        if (s->item[k].flags == flags && memcmp(&s->item[k].set, set, sizeof *set) == 0)
            return &s->item[k];
    if (hpc_grow(&s->item, &s->cap, s->n + 1, sizeof *s->item) < 0) return NULL;
    s->item[s->n] = (check_shared){.flags = flags, .set = *set};
    return &s->item[s->n++];
}

static int64_t choose(check_share *s, const check_headers *set, bool reopened, const check_texts *t)
{
    uint64_t flags = 0;
    for (size_t k = 0; t->flags[k]; k++)
        flags = hpc_hash(t->flags[k], strlen(t->flags[k]) + 1, flags);
    const check_shared *best = best_within(s, flags, set);
    const check_headers common = most_common(s, flags, set);
    const int ms = check_headers_ms(&common), lost = ms - (best ? check_headers_ms(&best->set) : 0);
    check_shared *e = lost > 0 ? entry_of(s, flags, &common) : NULL;
    if (e && !e->broken && !e->unit) {
        e->lost_ms += lost;
        if (e->lost_ms >= ms && !reopened) open_shared(s, e, t);
        best = best_within(s, flags, set);
    }
    if (!reopened) add_seen(s, flags, set);
    return best ? best - s->item : -1;
}

int64_t check_share_open(check_share *s, const check_headers *set, bool reopened,
                         const check_texts *t)
{
    if (check_headers_ms(set) == 0 || t->n + 1 > CHECK_TEXTS_MOST ||
        !is_includable(t->item[0].path))
        return -1;
    const int64_t k = choose(s, set, reopened, t);
    if (k < 0 || !check_share_parse(s, k, t)) return -1;
    s->item[k].taken = true;
    s->item[k].used = ++s->clock;
    return k;
}

bool check_share_parse(check_share *s, int64_t k, const check_texts *t)
{
    hpc_clang_text all[CHECK_TEXTS_MOST];
    char error[HPC_CLANG_ERROR_BYTES];
    check_shared *shared = &s->item[k];
    const size_t n = put_texts(all, s, shared, t, true);
    if (s->main.failed) return false;
    const int rc = s->table->parse(shared->unit, all, n, 1, error);
    if (rc < 0) close_shared(s, shared); /* it is of no use any more */
    return rc == 0;
}

void check_share_close(check_share *s, int64_t k)
{
    s->item[k].taken = false;
    if (s->item[k].unit) s->table->suspend(s->item[k].unit);
}

hpc_clang_unit *check_share_unit(const check_share *s, int64_t k)
{
    return s->item[k].unit;
}
