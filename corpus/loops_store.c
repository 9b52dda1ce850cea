/*
 * loops_store.c: writes loops.db deterministically.
 */
#include <string.h>

#include "corpus/database.h"
#include "corpus/loops.h"

enum { FILE_ROW = 1, LOOP_ROW };

struct loops_store {
    corpus_database d;
    int64_t last_file;
};

static const char schema[] =
    "CREATE TABLE kind (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
    "CREATE TABLE file (id INTEGER PRIMARY KEY, repository TEXT NOT NULL, path TEXT NOT NULL,"
    " licence TEXT NOT NULL, language INTEGER NOT NULL, split INTEGER NOT NULL);"
    "CREATE TABLE loop (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, line INTEGER NOT NULL,"
    " end_line INTEGER NOT NULL, begin INTEGER NOT NULL, end INTEGER NOT NULL,"
    " depth INTEGER NOT NULL, function TEXT NOT NULL, api TEXT NOT NULL, words INTEGER NOT NULL,"
    " kind INTEGER NOT NULL, directive TEXT NOT NULL, hash BLOB NOT NULL,"
    " occurrences INTEGER NOT NULL);"
    /* For people with other programs; it is not read here. */
    "CREATE VIEW loops AS SELECT l.id, l.file, f.repository, f.path, f.licence, l.line, l.end_line,"
    " l.function, g.name AS language, l.api, l.words, l.directive, lower(hex(l.hash)) AS hash,"
    " l.occurrences, s.name AS split, k.name AS kind, l.depth, l.begin, l.end"
    " FROM loop l JOIN file f ON f.id = l.file JOIN language g ON g.id = f.language"
    " JOIN split s ON s.id = f.split JOIN kind k ON k.id = l.kind;";

static int write_kinds(loops_store *s)
{
    hpc_buf sql = {0};
    int rc = HPC_OK;
    for (int k = 0; k < LOOPS_KIND_N; k++)
        hpc_buf_printf(&sql, "INSERT INTO kind VALUES (%d, '%s');", k,
                       loops_kind_name((loops_kind)k));
    TRY(sql.failed);
    TRY(corpus_database_run(&s->d, sql.data));
out:
    hpc_buf_release(&sql);
    return rc;
}

int loops_store_create(loops_store **out, const char *folder)
{
    static const corpus_database_format format = {
        .application = LOOPS_DB_APPLICATION,
        .version = LOOPS_DB_VERSION,
        .schema = schema,
        .insert = {[FILE_ROW] = "INSERT INTO file VALUES (?,?,?,?,?,?)",
                   [LOOP_ROW] = "INSERT INTO loop VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)"}};
    int rc = HPC_OK;
    *out = NULL;
    loops_store *s = hpc_alloc(1, sizeof *s);
    if (!s) return HPC_E_NOMEM;
    TRY(corpus_database_create(&s->d, folder, "loops.db", &format));
    TRY(write_kinds(s));
    *out = s;
    s = NULL;
out:
    loops_store_free(s);
    return rc;
}

void loops_store_free(loops_store *s)
{
    if (!s) return;
    corpus_database_release(&s->d);
    hpc_free(s);
}

int loops_store_meta(loops_store *s, const char *key, const char *value)
{
    return corpus_database_meta(&s->d, key, value);
}

/* Rows come in order of their files. */
static int add_file(loops_store *s, const loops_record *r)
{
    if (r->file == s->last_file) return HPC_OK;
    s->last_file = r->file;
    sqlite3_stmt *q = s->d.statement[FILE_ROW];
    sqlite3_bind_int64(q, 1, r->file);
    sqlite3_bind_text(q, 2, r->repository, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 3, r->path, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 4, r->licence, -1, SQLITE_STATIC);
    sqlite3_bind_int64(q, 5, r->language);
    sqlite3_bind_int64(q, 6, r->split);
    return corpus_database_step(&s->d, FILE_ROW);
}

int loops_store_add(loops_store *s, const loops_record *r, int64_t id, int64_t occurrences)
{
    static const char *const api[] = {"", "omp", "acc"};
    sqlite3_stmt *q = s->d.statement[LOOP_ROW];
    uint8_t hash[16]; /* as text it reads as in loops.jsonl */
    int rc = HPC_OK;
    TRY(add_file(s, r));
    for (int k = 0; k < 8; k++) {
        hash[k] = (uint8_t)(r->hash.high >> (56 - 8 * k));
        hash[k + 8] = (uint8_t)(r->hash.low >> (56 - 8 * k));
    }
    const int64_t numbers[] = {id, r->file, r->line, r->end_line, r->begin, r->end, r->depth};
    for (int k = 0; k < 7; k++) sqlite3_bind_int64(q, 1 + k, numbers[k]);
    sqlite3_bind_text(q, 8, r->function, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 9, api[r->api], -1, SQLITE_STATIC);
    sqlite3_bind_int64(q, 10, r->words);
    sqlite3_bind_int64(q, 11, r->kind);
    sqlite3_bind_text(q, 12, r->directive, -1, SQLITE_STATIC);
    sqlite3_bind_blob(q, 13, hash, sizeof hash, SQLITE_STATIC);
    sqlite3_bind_int64(q, 14, occurrences);
    TRY(corpus_database_step(&s->d, LOOP_ROW));
out:
    return rc;
}

int loops_store_commit(loops_store *s)
{
    return corpus_database_commit(&s->d);
}
