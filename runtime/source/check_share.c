/*
 * check_share.c: parses of standard headers that files share. Runs in the process of libclang.
 *
 * A shared unit is a text of ours that includes a set of standard headers, which libclang keeps as
 * a preamble in memory. For a file, the text goes on with the names that are declared for it and
 * an #include of the file. The preamble stays valid, whichever file comes next.
 *
 * A preamble costs more than a parse, so a set gets one when it is asked for a second time; until
 * then its files use the preamble of the largest set that theirs contains.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/source/check_share.h"

enum { UNITS_MOST = 12 };

void check_share_init(check_share *s, const hpc_clang *table, const char *library)
{
    *s = (check_share){.table = table};
    /* libclang keeps no preamble of a file that does not exist; the text is not read. */
    snprintf(s->path, sizeof s->path, "%s/hpccoder-clang.so", library);
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* A path that an #include can name. */
static bool is_includable(const char *path)
{
    return path[0] == '/' && strpbrk(path, "\"\\\n\r") == NULL;
}

/* The texts as libclang sees them: ours first, then the file; names are declared in ours. */
static size_t put_texts(hpc_clang_text out[CHECK_TEXTS_MOST], check_share *s,
                        const check_shared *shared, const hpc_clang_text *texts, size_t n,
                        bool with_file)
{
    s->main.n = 0;
    check_headers_text(&s->main, &shared->set);
    hpc_buf_text(&s->main, ";\n"); /* the preamble ends where something else than an #include is */
    if (with_file) hpc_buf_add(&s->main, texts[1].text, texts[1].n);
    if (with_file) hpc_buf_printf(&s->main, "\n#include \"%s\"\n", texts[0].path);
    out[0] = (hpc_clang_text){s->path, s->main.data, s->main.n};
    for (size_t k = 0; k < n; k++) out[k + 1] = texts[k];
    out[2].text = "";
    out[2].n = 0;
    return n + 1;
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

/* A set whose headers bring errors has no unit: the errors would be in none of the files. */
static void open_shared(check_share *s, check_shared *shared, const hpc_clang_text *texts, size_t n,
                        const char *const *flags)
{
    hpc_clang_text all[CHECK_TEXTS_MOST];
    char error[HPC_CLANG_ERROR_BYTES];
    make_room(s);
    const size_t all_n = put_texts(all, s, shared, texts, n, false);
    shared->broken = true;
    if (s->main.failed || s->table->open(&shared->unit, all, all_n, flags, true, true, error) < 0)
        return;
    s->open_n++;
    shared->broken = false;
    s->table->issues(shared->unit, refuse, &shared->broken);
    if (shared->broken) close_shared(s, shared);
}

static check_shared *find(check_share *s, uint64_t flags, const check_headers *set)
{
    for (int64_t k = 0; k < s->n; k++)
        if (s->item[k].flags == flags && memcmp(&s->item[k].set, set, sizeof *set) == 0)
            return &s->item[k];
    return NULL;
}

static check_shared *largest_within(check_share *s, uint64_t flags, const check_headers *set)
{
    check_shared *best = NULL;
    for (int64_t k = 0; k < s->n; k++) {
        check_shared *e = &s->item[k];
        if (e->flags != flags || !e->unit || e->taken || !check_headers_within(&e->set, set))
            continue;
        if (!best || check_headers_n(&e->set) > check_headers_n(&best->set)) best = e;
    }
    return best;
}

/* -1: there is none, and the file is to be parsed alone. */
static int64_t choose(check_share *s, const check_headers *set, const hpc_clang_text *texts,
                      size_t n, const char *const *flags)
{
    uint64_t hash = 0;
    for (size_t k = 0; flags[k]; k++) hash = hpc_hash(flags[k], strlen(flags[k]) + 1, hash);
    check_shared *own = find(s, hash, set);
    if (!own) {
        if (hpc_grow(&s->item, &s->cap, s->n + 1, sizeof *s->item) < 0) return -1;
        s->item[s->n++] = (check_shared){.flags = hash, .set = *set};
    } else if (!own->unit && !own->broken) {
        open_shared(s, own, texts, n, flags);
    }
    const check_shared *best = largest_within(s, hash, set);
    return best ? best - s->item : -1;
}

int64_t check_share_open(check_share *s, const check_headers *set, const hpc_clang_text *texts,
                         size_t n, const char *const *flags)
{
    if (check_headers_n(set) == 0 || n + 1 > CHECK_TEXTS_MOST || !is_includable(texts[0].path))
        return -1;
    const int64_t k = choose(s, set, texts, n, flags);
    if (k < 0 || !check_share_parse(s, k, texts, n)) return -1;
    s->item[k].taken = true;
    s->item[k].used = ++s->clock;
    return k;
}

bool check_share_parse(check_share *s, int64_t k, const hpc_clang_text *texts, size_t n)
{
    hpc_clang_text all[CHECK_TEXTS_MOST];
    char error[HPC_CLANG_ERROR_BYTES];
    check_shared *shared = &s->item[k];
    const size_t all_n = put_texts(all, s, shared, texts, n, true);
    if (s->main.failed) return false;
    const int rc = s->table->parse(shared->unit, all, all_n, 1, error);
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
