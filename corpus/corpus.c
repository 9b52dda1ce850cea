/*
 * corpus.c: reads an untrusted corpus. corpus.db is opened so that it cannot run code, each value
 * is checked when it is read, and a chunk must have the hash that the database records.
 */
#include <sqlite3.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "corpus/harvest.h"

struct hpc_corpus {
    sqlite3 *db;
    hpc_buf folder, path; /* of the corpus; of corpus.db */
    hpc_hash128 hash, sketch;
    bool used_sketch;
    sqlite3_stmt *select, *chunk_hash;
    bool selecting;
    corpus_chunk *chunk; /* the one read last */
    hpc_buf repository;  /* of it, and its number */
    int64_t chunk_number;
};

#define REPAIR "harvest again with --resume"

static int refused(const hpc_corpus *c, int code)
{
    if (code == SQLITE_NOMEM) return hpc_fail(HPC_E_NOMEM, "out of memory for %s", c->path.data);
    bool io = code == SQLITE_IOERR || code == SQLITE_CANTOPEN || code == SQLITE_BUSY;
    return hpc_fail(io ? HPC_E_IO : HPC_E_FORMAT, "%s cannot be read: %s%s", c->path.data,
                    c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(code), io ? "" : "; " REPAIR);
}

static int out_of_range(const hpc_corpus *c, int64_t file)
{
    return hpc_fail(HPC_E_FORMAT, "%s is damaged: file %lld has a value out of range; " REPAIR,
                    c->path.data, (long long)file);
}

static int prepare(hpc_corpus *c, sqlite3_stmt **out, const char *sql)
{
    int code = sqlite3_prepare_v2(c->db, sql, -1, out, NULL);
    return code == SQLITE_OK ? HPC_OK : refused(c, code);
}

static int one_number(hpc_corpus *c, const char *sql, int64_t *value)
{
    sqlite3_stmt *q = NULL;
    int rc = prepare(c, &q, sql);
    if (rc < 0) return rc;
    int code = sqlite3_step(q);
    if (code == SQLITE_ROW) *value = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return code == SQLITE_ROW ? HPC_OK : refused(c, code);
}

static int check_version(hpc_corpus *c)
{
    int64_t application = 0, version = 0;
    int rc = HPC_OK;
    TRY(one_number(c, "PRAGMA application_id", &application));
    TRY(one_number(c, "PRAGMA user_version", &version));
    if (application != CORPUS_DB_APPLICATION)
        TRY(hpc_fail(HPC_E_FORMAT, "%s is not a corpus of hpccoder", c->path.data));
    if (version != CORPUS_DB_VERSION) /* a newer one is not damaged */
        TRY(hpc_fail(version > CORPUS_DB_VERSION ? HPC_E_UNSUPPORTED : HPC_E_FORMAT,
                     "%s has format version %lld; this program knows version %d", c->path.data,
                     (long long)version, CORPUS_DB_VERSION));
out:
    return rc;
}

static bool parse_hash(hpc_hash128 *out, const char *text)
{
    uint64_t half[2] = {0, 0};
    if (strlen(text) != 32) return false;
    for (int k = 0; k < 32; k++) {
        const char *digits = "0123456789abcdef", *at = strchr(digits, text[k]);
        if (!at) return false;
        half[k / 16] = half[k / 16] << 4 | (uint64_t)(at - digits);
    }
    *out = (hpc_hash128){.low = half[1], .high = half[0]};
    return true;
}

/* Reads the harvest's settings from harvest.json. */
static int read_settings(hpc_corpus *c)
{
    sqlite3_stmt *q = NULL;
    hpc_json *root = NULL;
    const char *sketch = NULL;
    int rc = HPC_OK;
    TRY(prepare(c, &q, "SELECT value FROM meta WHERE key = 'settings'"));
    int code = sqlite3_step(q);
    const char *text = code == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
    if (!text) TRY(hpc_fail(HPC_E_FORMAT, "%s: its settings are missing; " REPAIR, c->path.data));
    TRY(hpc_json_parse(&root, text, strlen(text), c->path.data));
    const hpc_json *held_out = hpc_json_get(root, "held-out");
    if (hpc_json_kind_of(held_out) != HPC_JSON_TEXT)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: its settings lack the held-out content; " REPAIR,
                     c->path.data));
    TRY(hpc_json_text(&sketch, held_out, "held-out"));
    c->used_sketch = strcmp(sketch, "none") != 0;
    if (c->used_sketch && !parse_hash(&c->sketch, sketch))
        TRY(hpc_fail(HPC_E_FORMAT, "%s: '%.40s' is not the hash of a sketch; " REPAIR, c->path.data,
                     sketch));
out:
    sqlite3_finalize(q);
    hpc_json_free(root);
    return rc;
}

static const char select_rows[] =
    "SELECT f.id, r.name, f.path, f.licence, f.detail, f.git_id, f.bytes, f.stored_bytes, f.lines,"
    " f.tokens, f.language, f.fixed, f.head, f.parallel, f.reason, f.split, f.original,"
    " f.component, f.masked, f.chunk, f.slot"
    " FROM file f JOIN repository r ON r.id = f.repository"
    /* A value out of range is never filtered away: the row is shown to be damaged. */
    " WHERE f.id > ?1 AND ((?2 >> f.reason) & 1 OR f.reason NOT BETWEEN 0 AND 63)"
    " AND ((?3 >> f.split) & 1 OR f.split NOT BETWEEN 0 AND 63)"
    " AND ((?4 >> f.language) & 1 OR f.language NOT BETWEEN 0 AND 63)"
    " ORDER BY f.id";

/* The database may be another's: nothing in its schema runs, and nothing is written. */
static int open_database(hpc_corpus *c)
{
    hpc_file_view v = {0};
    int rc = HPC_OK;
    TRY(hpc_file_open(&v, c->path.data));
    c->hash = hpc_hash_wide(v.data, v.bytes);
    int code =
        sqlite3_open_v2(c->path.data, &c->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) TRY(refused(c, code));
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    if (sqlite3_exec(c->db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL) != SQLITE_OK)
        TRY(refused(c, SQLITE_ERROR));
    TRY(check_version(c));
    TRY(read_settings(c));
    TRY(prepare(c, &c->select, select_rows));
    TRY(prepare(c, &c->chunk_hash,
                "SELECT k.hash FROM chunk k JOIN repository r ON r.id = k.repository"
                " WHERE r.name = ? AND k.chunk = ?"));
out:
    hpc_file_close(&v);
    return rc;
}

int hpc_corpus_open(hpc_corpus **out, const char *folder)
{
    int rc = HPC_OK;
    *out = NULL;
    hpc_corpus *c = hpc_alloc(1, sizeof *c);
    if (!c) return HPC_E_NOMEM;
    TRY(hpc_buf_text(&c->folder, folder));
    TRY(hpc_buf_printf(&c->path, "%s/corpus.db", folder));
    if (!hpc_file_exists(c->path.data))
        TRY(hpc_fail(HPC_E_IO,
                     "%s is missing: %s has no complete corpus; `hpccoder corpus harvest` makes "
                     "one, or completes it with --resume",
                     c->path.data, folder));
    TRY(open_database(c));
    *out = c;
    c = NULL;
out:
    hpc_corpus_close(c);
    return rc;
}

void hpc_corpus_close(hpc_corpus *c)
{
    if (!c) return;
    corpus_chunk_close(c->chunk);
    sqlite3_finalize(c->select);
    sqlite3_finalize(c->chunk_hash);
    sqlite3_close(c->db);
    hpc_buf_release(&c->folder);
    hpc_buf_release(&c->path);
    hpc_buf_release(&c->repository);
    hpc_free(c);
}

hpc_hash128 hpc_corpus_hash(const hpc_corpus *c)
{
    return c->hash;
}

bool hpc_corpus_used_sketch(const hpc_corpus *c, hpc_hash128 *sketch)
{
    if (c->used_sketch && sketch) *sketch = c->sketch;
    return c->used_sketch;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* Bits of values that there are not are set. */
static int64_t mask_of(unsigned bits, int values, unsigned fallback)
{
    return (int64_t)(~UINT64_C(0) << values | (bits ? bits : fallback));
}

int hpc_corpus_select(hpc_corpus *c, const hpc_corpus_filter *filter)
{
    const hpc_corpus_filter none = {0}, *f = filter ? filter : &none;
    sqlite3_reset(c->select);
    sqlite3_bind_int64(c->select, 1, f->after);
    sqlite3_bind_int64(c->select, 2, mask_of(f->reasons, HPC_REASON_N, 1u << HPC_REASON_KEPT));
    sqlite3_bind_int64(c->select, 3, mask_of(f->splits, HPC_SPLIT_N, UINT32_MAX));
    sqlite3_bind_int64(c->select, 4, mask_of(f->languages, HPC_LANGUAGE_N, UINT32_MAX));
    c->selecting = true;
    return HPC_OK;
}

static const char *text_of(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return text ? text : "";
}

static bool row_is_sound(const hpc_corpus_file *f, sqlite3_stmt *q)
{
    bool stored = f->reason == HPC_REASON_KEPT || f->reason >= HPC_REASON_DUPLICATE;
    return f->id > 0 && sqlite3_column_bytes(q, 5) == (int)sizeof f->git_id.byte && f->bytes >= 0 &&
           f->stored_bytes >= 0 && f->lines >= 0 && f->tokens >= 0 && f->masked >= 0 &&
           f->original >= 0 && f->component > 0 && f->chunk >= -1 && f->slot >= -1 &&
           (!stored || (f->chunk >= 0 && f->slot >= 0));
}

int hpc_corpus_next(hpc_corpus_file *out, hpc_corpus *c)
{
    sqlite3_stmt *q = c->select;
    if (!c->selecting) return 0;
    int code = sqlite3_step(q);
    if (code != SQLITE_ROW) c->selecting = false;
    if (code == SQLITE_DONE) return 0;
    if (code != SQLITE_ROW) return refused(c, code);
    int64_t number[21];
    for (int k = 6; k < 21; k++) number[k] = sqlite3_column_int64(q, k);
    if (number[10] < 0 || number[10] >= HPC_LANGUAGE_N || number[14] < 0 ||
        number[14] >= HPC_REASON_N || number[15] < 0 || number[15] >= HPC_SPLIT_N)
        return out_of_range(c, sqlite3_column_int64(q, 0));
    *out = (hpc_corpus_file){.id = sqlite3_column_int64(q, 0),
                             .repository = text_of(q, 1),
                             .path = text_of(q, 2),
                             .licence = text_of(q, 3),
                             .detail = text_of(q, 4),
                             .bytes = number[6],
                             .stored_bytes = number[7],
                             .lines = number[8],
                             .tokens = number[9],
                             .language = (hpc_language)number[10],
                             .fixed = number[11] != 0,
                             .head = number[12] != 0,
                             .parallel = (uint32_t)number[13],
                             .reason = (hpc_reason)number[14],
                             .split = (hpc_split)number[15],
                             .original = number[16],
                             .component = number[17],
                             .masked = number[18],
                             .chunk = number[19],
                             .slot = number[20]};
    const void *id = sqlite3_column_blob(q, 5);
    if (!id || !row_is_sound(out, q)) return out_of_range(c, out->id);
    memcpy(out->git_id.byte, id, sizeof out->git_id.byte);
    return 1;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* The hash that the database knows the chunk by. */
static int check_chunk(hpc_corpus *c, const corpus_chunk *chunk, const char *repository,
                       int64_t number, const char *path)
{
    uint8_t bytes[16];
    sqlite3_stmt *q = c->chunk_hash;
    hpc_put_hash(bytes, corpus_chunk_hash(chunk));
    sqlite3_bind_text(q, 1, repository, -1, SQLITE_STATIC);
    sqlite3_bind_int64(q, 2, number);
    int code = sqlite3_step(q);
    bool same = code == SQLITE_ROW && sqlite3_column_bytes(q, 0) == (int)sizeof bytes &&
                memcmp(sqlite3_column_blob(q, 0), bytes, sizeof bytes) == 0;
    sqlite3_reset(q);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return refused(c, code);
    if (same) return HPC_OK;
    return hpc_fail(HPC_E_FORMAT, "%s is not the chunk that %s was built from; " REPAIR, path,
                    c->path.data);
}

static int go_to_chunk(hpc_corpus *c, const char *repository, int64_t number)
{
    hpc_buf path = {0};
    int rc = HPC_OK;
    if (c->chunk && c->chunk_number == number && strcmp(c->repository.data, repository) == 0)
        return HPC_OK;
    corpus_chunk_close(c->chunk);
    c->chunk = NULL;
    TRY(corpus_chunk_path(&path, c->folder.data, repository, number));
    TRY(corpus_chunk_open(&c->chunk, path.data));
    rc = check_chunk(c, c->chunk, repository, number, path.data);
    if (rc < 0) {
        corpus_chunk_close(c->chunk);
        c->chunk = NULL;
        goto out;
    }
    c->repository.n = 0;
    TRY(hpc_buf_text(&c->repository, repository));
    c->chunk_number = number;
out:
    hpc_buf_release(&path);
    return rc;
}

int hpc_corpus_read(hpc_buf *out, hpc_corpus *c, const hpc_corpus_file *file)
{
    corpus_record r;
    int rc = HPC_OK;
    out->n = 0;
    if (file->chunk < 0)
        return hpc_fail(HPC_E_ARG, "%s:%s was dropped (%s), its text is not stored",
                        file->repository, file->path, hpc_reason_name(file->reason));
    TRY(go_to_chunk(c, file->repository, file->chunk));
    TRY(corpus_chunk_record(&r, c->chunk, file->slot));
    if (memcmp(&r.id, &file->git_id, sizeof r.id) != 0 || r.stored_bytes != file->stored_bytes)
        TRY(hpc_fail(HPC_E_FORMAT, "%s is damaged: file %lld differs from its chunk; " REPAIR,
                     c->path.data, (long long)file->id));
    TRY(corpus_chunk_text(out, c->chunk, file->slot));
out:
    return rc;
}

/* ---- counts --------------------------------------------------------------------------------- */

static int count_rows(hpc_harvest_result *r, hpc_corpus *c)
{
    sqlite3_stmt *q = NULL;
    int code, rc = HPC_OK;
    TRY(prepare(c, &q,
                "SELECT reason, split, count(*), sum(bytes), sum(stored_bytes), sum(tokens)"
                " FROM file GROUP BY reason, split"));
    while ((code = sqlite3_step(q)) == SQLITE_ROW) {
        int64_t reason = sqlite3_column_int64(q, 0), split = sqlite3_column_int64(q, 1);
        int64_t n = sqlite3_column_int64(q, 2), bytes = sqlite3_column_int64(q, 3);
        if (reason < 0 || reason >= HPC_REASON_N || split < 0 || split >= HPC_SPLIT_N)
            TRY(hpc_fail(HPC_E_FORMAT, "%s is damaged: a value is out of range; " REPAIR,
                         c->path.data));
        r->files_n += n;
        r->bytes += bytes;
        r->reason_n[reason] += n;
        r->reason_bytes[reason] += bytes;
        if (reason != HPC_REASON_KEPT) continue;
        r->kept_n += n;
        r->kept_bytes += sqlite3_column_int64(q, 4);
        r->kept_tokens += sqlite3_column_int64(q, 5);
        r->split_n[split] += n;
        r->split_bytes[split] += sqlite3_column_int64(q, 4);
    }
    if (code != SQLITE_DONE) TRY(refused(c, code));
out:
    sqlite3_finalize(q);
    return rc;
}

int corpus_count(hpc_harvest_result *out, const char *folder)
{
    hpc_corpus *c = NULL;
    int rc = HPC_OK;
    TRY(hpc_corpus_open(&c, folder));
    TRY(count_rows(out, c));
    TRY(one_number(c, "SELECT count(*) FROM repository WHERE failed", &out->failed_n));
    TRY(one_number(
        c,
        "SELECT count(DISTINCT cluster) FROM repository r WHERE EXISTS (SELECT 1 FROM file"
        " WHERE id >= r.first AND id < r.first + r.files AND reason = 0)",
        &out->clusters_n));
out:
    hpc_corpus_close(c);
    return rc;
}

/* ---- what it was made from ------------------------------------------------------------------ */

int corpus_list_chunk(hpc_buf *out, const char *repository, int64_t chunk, hpc_hash128 hash)
{
    uint8_t tail[24];
    hpc_put64(tail, (uint64_t)chunk);
    hpc_put_hash(tail + 8, hash);
    int rc = hpc_buf_add(out, repository, strlen(repository) + 1);
    return rc < 0 ? rc : hpc_buf_add(out, tail, sizeof tail);
}

static int list_chunks(hpc_buf *out, hpc_corpus *c)
{
    sqlite3_stmt *q = NULL;
    int code, rc = HPC_OK;
    TRY(prepare(c, &q,
                "SELECT r.name, k.chunk, k.hash FROM chunk k JOIN repository r"
                " ON r.id = k.repository ORDER BY k.repository, k.chunk"));
    while ((code = sqlite3_step(q)) == SQLITE_ROW) {
        bool whole = sqlite3_column_bytes(q, 2) == (int)sizeof(hpc_hash128);
        hpc_hash128 hash = {0, 0};
        if (whole) hash = hpc_get_hash(sqlite3_column_blob(q, 2));
        TRY(corpus_list_chunk(out, text_of(q, 0), sqlite3_column_int64(q, 1), hash));
    }
    if (code != SQLITE_DONE) TRY(refused(c, code));
out:
    sqlite3_finalize(q);
    return rc;
}

static int check_pages(hpc_corpus *c)
{
    sqlite3_stmt *q = NULL;
    int rc = prepare(c, &q, "PRAGMA quick_check(1)");
    if (rc < 0) return rc;
    int code = sqlite3_step(q);
    if (code != SQLITE_ROW || strcmp(text_of(q, 0), "ok") != 0)
        rc = refused(c, code == SQLITE_ROW ? SQLITE_CORRUPT : code);
    sqlite3_finalize(q);
    return rc;
}

int corpus_verify(bool *same, int64_t *failed, const char *folder, const hpc_buf *chunks)
{
    hpc_corpus *c = NULL;
    hpc_corpus_file file;
    hpc_buf there = {0};
    int rc = HPC_OK;
    TRY(hpc_corpus_open(&c, folder));
    TRY(check_pages(c));
    TRY(hpc_corpus_select(c, &(hpc_corpus_filter){.reasons = (1u << HPC_REASON_N) - 1}));
    do TRY(hpc_corpus_next(&file, c));
    while (rc > 0);
    TRY(one_number(c, "SELECT count(*) FROM repository WHERE failed", failed));
    TRY(list_chunks(&there, c));
    *same =
        there.n == chunks->n && (there.n == 0 || memcmp(there.data, chunks->data, there.n) == 0);
out:
    hpc_corpus_close(c);
    hpc_buf_release(&there);
    return rc;
}
