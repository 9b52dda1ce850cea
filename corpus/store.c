/*
 * store.c: writes corpus.db deterministically.
 *
 * It has no indices: rows of `file` are in order of id, and those of a repository are contiguous
 * from `first`.
 */
#include <string.h>

#include "runtime/base/bytes.h"
#include "corpus/database.h"
#include "corpus/harvest.h"

enum { REPOSITORY_ROW = 1, CHUNK_ROW, FILE_ROW };

struct corpus_store {
    corpus_database d;
};

static const char schema[] =
    "CREATE TABLE reason (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
    "CREATE TABLE repository (id INTEGER PRIMARY KEY, name TEXT NOT NULL, licence TEXT NOT NULL,"
    " head BLOB, failed INTEGER NOT NULL, shallow INTEGER NOT NULL, partial INTEGER NOT NULL,"
    " commits INTEGER NOT NULL, missing INTEGER NOT NULL, links INTEGER NOT NULL,"
    " other INTEGER NOT NULL, first INTEGER NOT NULL, files INTEGER NOT NULL,"
    " chunks INTEGER NOT NULL, cluster INTEGER NOT NULL, split INTEGER NOT NULL);"
    "CREATE TABLE chunk (repository INTEGER NOT NULL, chunk INTEGER NOT NULL, hash BLOB NOT NULL,"
    " first INTEGER NOT NULL, files INTEGER NOT NULL, PRIMARY KEY (repository, chunk))"
    " WITHOUT ROWID;"
    "CREATE TABLE file (id INTEGER PRIMARY KEY, repository INTEGER NOT NULL, path TEXT NOT NULL,"
    " git_id BLOB NOT NULL, hash BLOB, bytes INTEGER NOT NULL, stored_bytes INTEGER NOT NULL,"
    " lines INTEGER NOT NULL, tokens INTEGER NOT NULL, language INTEGER NOT NULL,"
    " fixed INTEGER NOT NULL, head INTEGER NOT NULL, parallel INTEGER NOT NULL,"
    " licence TEXT NOT NULL, reason INTEGER NOT NULL, detail TEXT NOT NULL,"
    " split INTEGER NOT NULL, original INTEGER NOT NULL, component INTEGER NOT NULL,"
    " masked INTEGER NOT NULL, chunk INTEGER NOT NULL, slot INTEGER NOT NULL);"
    /* For people with other programs; it is not read here. */
    "CREATE VIEW files AS SELECT f.id, r.name AS repository, f.path, lower(hex(f.git_id)) AS "
    "git_id,"
    " f.bytes, f.stored_bytes, f.lines, f.tokens, l.name AS language, f.head, f.licence,"
    " e.name AS reason, f.detail, s.name AS split, f.original, f.component, f.masked"
    " FROM file f JOIN repository r ON r.id = f.repository JOIN language l ON l.id = f.language"
    " JOIN reason e ON e.id = f.reason JOIN split s ON s.id = f.split;";

static int write_reasons(corpus_store *s)
{
    hpc_buf sql = {0};
    int rc = HPC_OK;
    for (int k = 0; k < HPC_REASON_N; k++)
        hpc_buf_printf(&sql, "INSERT INTO reason VALUES (%d, '%s');", k,
                       hpc_reason_name((hpc_reason)k));
    TRY(sql.failed);
    TRY(corpus_database_run(&s->d, sql.data));
out:
    hpc_buf_release(&sql);
    return rc;
}

int corpus_store_create(corpus_store **out, const char *folder)
{
    static const corpus_database_format format = {
        .application = CORPUS_DB_APPLICATION,
        .version = CORPUS_DB_VERSION,
        .schema = schema,
        .insert = {
            [REPOSITORY_ROW] = "INSERT INTO repository VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            [CHUNK_ROW] = "INSERT INTO chunk VALUES (?,?,?,?,?)",
            [FILE_ROW] = "INSERT INTO file VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"}};
    int rc = HPC_OK;
    *out = NULL;
    corpus_store *s = hpc_alloc(1, sizeof *s);
    if (!s) return HPC_E_NOMEM;
    TRY(corpus_database_create(&s->d, folder, "corpus.db", &format));
    TRY(write_reasons(s));
    *out = s;
    s = NULL;
out:
    corpus_store_free(s);
    return rc;
}

void corpus_store_free(corpus_store *s)
{
    if (!s) return;
    corpus_database_release(&s->d);
    hpc_free(s);
}

int corpus_store_meta(corpus_store *s, const char *key, const char *value)
{
    return corpus_database_meta(&s->d, key, value);
}

int corpus_store_add_repository(corpus_store *s, int64_t id, const corpus_store_repository *r)
{
    const corpus_plan none = {0}, *p = r->plan ? r->plan : &none;
    sqlite3_stmt *q = s->d.statement[REPOSITORY_ROW];
    const int64_t rest[] = {!r->plan,     p->shallow,  p->partial,     p->commits_n,
                            p->missing_n, p->links_n,  p->other_n,     r->first,
                            r->files_n,   r->chunks_n, r->cluster + 1, r->split};
    sqlite3_bind_int64(q, 1, id);
    sqlite3_bind_text(q, 2, r->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 3, r->licence, -1, SQLITE_STATIC);
    if (r->plan) sqlite3_bind_blob(q, 4, p->head.byte, sizeof p->head.byte, SQLITE_STATIC);
    for (int k = 0; k < (int)(sizeof rest / sizeof *rest); k++)
        sqlite3_bind_int64(q, 5 + k, rest[k]);
    return corpus_database_step(&s->d, REPOSITORY_ROW);
}

int corpus_store_add_chunk(corpus_store *s, int64_t repository, int64_t chunk, hpc_hash128 hash,
                           int64_t first, int64_t files_n)
{
    sqlite3_stmt *q = s->d.statement[CHUNK_ROW];
    uint8_t bytes[16];
    hpc_put_hash(bytes, hash);
    sqlite3_bind_int64(q, 1, repository);
    sqlite3_bind_int64(q, 2, chunk);
    sqlite3_bind_blob(q, 3, bytes, sizeof bytes, SQLITE_STATIC);
    sqlite3_bind_int64(q, 4, first);
    sqlite3_bind_int64(q, 5, files_n);
    return corpus_database_step(&s->d, CHUNK_ROW);
}

int corpus_store_add_file(corpus_store *s, int64_t id, const corpus_record *r, const corpus_item *i,
                          int64_t chunk, int64_t slot)
{
    sqlite3_stmt *q = s->d.statement[FILE_ROW];
    uint8_t hash[16];
    bool stored = r->reason == HPC_REASON_KEPT;
    hpc_put_hash(hash, r->hash);
    sqlite3_bind_int64(q, 1, id);
    sqlite3_bind_int64(q, 2, i->source + 1);
    sqlite3_bind_text(q, 3, r->path, -1, SQLITE_STATIC);
    sqlite3_bind_blob(q, 4, r->id.byte, sizeof r->id.byte, SQLITE_STATIC);
    if (r->hash.low | r->hash.high) sqlite3_bind_blob(q, 5, hash, sizeof hash, SQLITE_STATIC);
    const int64_t sizes[] = {(int64_t)r->bytes, r->stored_bytes, r->lines, r->tokens,
                             r->language,       r->fixed,        r->head,  r->parallel};
    for (int k = 0; k < 8; k++) sqlite3_bind_int64(q, 6 + k, sizes[k]);
    sqlite3_bind_text(q, 14, r->licence, -1, SQLITE_STATIC);
    sqlite3_bind_int64(q, 15, i->reason);
    sqlite3_bind_text(q, 16, r->detail, -1, SQLITE_STATIC);
    const int64_t rest[] = {i->split,  i->original + 1,     i->component + 1,
                            r->masked, stored ? chunk : -1, stored ? slot : -1};
    for (int k = 0; k < 6; k++) sqlite3_bind_int64(q, 17 + k, rest[k]);
    return corpus_database_step(&s->d, FILE_ROW);
}

int corpus_store_commit(corpus_store *s)
{
    return corpus_database_commit(&s->d);
}
