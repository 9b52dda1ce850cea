/*
 * loops_read.c: reads an untrusted loops.db. It is opened so that it cannot run code; each value
 * is checked when it is read.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/loops.h"

struct loops_db {
    sqlite3 *db;
    sqlite3_stmt *select;
    bool selecting;
    hpc_buf path;
    hpc_hash128 corpus;
};

static int refused(const loops_db *d, int code)
{
    if (code == SQLITE_NOMEM) return hpc_fail(HPC_E_NOMEM, "out of memory for %s", d->path.data);
    return hpc_fail(HPC_E_FORMAT, "%s cannot be read: %s", d->path.data,
                    d->db ? sqlite3_errmsg(d->db) : sqlite3_errstr(code));
}

/* One value: a number, or a hash of 32 digits. */
static int read_value(int64_t *number, hpc_hash128 *hash, const loops_db *d, const char *sql)
{
    sqlite3_stmt *q = NULL;
    char half[17] = {0};
    int rc = HPC_OK;
    int code = sqlite3_prepare_v2(d->db, sql, -1, &q, NULL);
    if (code == SQLITE_OK) code = sqlite3_step(q);
    if (code != SQLITE_ROW) {
        rc = code == SQLITE_DONE ? hpc_fail(HPC_E_FORMAT, "%s is damaged", d->path.data)
                                 : refused(d, code);
    } else if (number) {
        *number = sqlite3_column_int64(q, 0);
    } else {
        const char *text = (const char *)sqlite3_column_text(q, 0);
        if (!text || strspn(text, "0123456789abcdef") != 32 || text[32]) {
            rc = hpc_fail(HPC_E_FORMAT, "%s is damaged: the hash of its corpus is invalid",
                          d->path.data);
        } else {
            memcpy(half, text, 16);
            hash->high = strtoull(half, NULL, 16);
            memcpy(half, text + 16, 16);
            hash->low = strtoull(half, NULL, 16);
        }
    }
    sqlite3_finalize(q);
    return rc;
}

static int check(loops_db *d)
{
    int64_t application = 0, version = 0;
    int rc = HPC_OK;
    TRY(read_value(&application, NULL, d, "PRAGMA application_id"));
    TRY(read_value(&version, NULL, d, "PRAGMA user_version"));
    if (application != LOOPS_DB_APPLICATION)
        TRY(hpc_fail(HPC_E_FORMAT, "%s is not a table of loops of hpccoder", d->path.data));
    if (version != LOOPS_DB_VERSION)
        TRY(hpc_fail(HPC_E_FORMAT, "%s has format version %lld; this program knows version %d",
                     d->path.data, (long long)version, LOOPS_DB_VERSION));
    TRY(read_value(NULL, &d->corpus, d, "SELECT value FROM meta WHERE key = 'corpus'"));
out:
    return rc;
}

static const char select_rows[] =
    "SELECT l.id, l.file, l.line, l.end_line, l.begin, l.end, l.depth, l.function, l.api, l.words,"
    " l.kind, l.directive, l.hash, f.language, f.split"
    " FROM loop l JOIN file f ON f.id = l.file"
    " WHERE (?1 >> l.kind) & 1 AND (?2 >> f.split) & 1 ORDER BY l.id";

int loops_db_open(loops_db **out, const char *folder)
{
    int rc = HPC_OK;
    *out = NULL;
    loops_db *d = hpc_alloc(1, sizeof *d);
    if (!d) return HPC_E_NOMEM;
    TRY(hpc_buf_printf(&d->path, "%s/loops.db", folder));
    if (!hpc_file_exists(d->path.data))
        TRY(hpc_fail(HPC_E_IO, "%s is missing; create it with `hpccoder corpus loops`",
                     d->path.data));
    int code =
        sqlite3_open_v2(d->path.data, &d->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) TRY(refused(d, code));
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    TRY(check(d));
    code = sqlite3_prepare_v2(d->db, select_rows, -1, &d->select, NULL);
    if (code != SQLITE_OK) TRY(refused(d, code));
    *out = d;
    d = NULL;
out:
    loops_db_close(d);
    return rc;
}

void loops_db_close(loops_db *d)
{
    if (!d) return;
    sqlite3_finalize(d->select);
    sqlite3_close(d->db);
    hpc_buf_release(&d->path);
    hpc_free(d);
}

hpc_hash128 loops_db_corpus(const loops_db *d)
{
    return d->corpus;
}

int loops_db_select(loops_db *d, unsigned kinds, unsigned splits)
{
    sqlite3_reset(d->select);
    sqlite3_bind_int64(d->select, 1, kinds ? kinds : UINT32_MAX);
    sqlite3_bind_int64(d->select, 2, splits ? splits : UINT32_MAX);
    d->selecting = true;
    return HPC_OK;
}

static const char *text_of(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return text ? text : "";
}

static hpc_hash128 hash_of(const uint8_t *byte)
{
    hpc_hash128 h = {0, 0};
    for (int k = 0; k < 8; k++) {
        h.high = h.high << 8 | byte[k];
        h.low = h.low << 8 | byte[k + 8];
    }
    return h;
}

int loops_db_next(loops_record *r, int64_t *id, loops_db *d)
{
    sqlite3_stmt *q = d->select;
    int64_t number[15];
    if (!d->selecting) return 0;
    int code = sqlite3_step(q);
    if (code != SQLITE_ROW) d->selecting = false;
    if (code == SQLITE_DONE) return 0;
    if (code != SQLITE_ROW) return refused(d, code);
    for (int k = 0; k < 15; k++) number[k] = sqlite3_column_int64(q, k);
    bool sound = sqlite3_column_bytes(q, 12) == 16 && number[2] > 0 && number[3] >= number[2] &&
                 number[3] <= UINT32_MAX && number[4] >= 0 && number[5] > number[4] &&
                 number[5] <= UINT32_MAX && number[6] >= 0 && number[6] <= LOOPS_DEPTH_MOST &&
                 number[9] >= 0 && number[9] <= UINT32_MAX && number[10] >= 0 &&
                 number[10] < LOOPS_KIND_N && number[13] >= 0 && number[13] < HPC_LANGUAGE_N &&
                 number[14] >= 0 && number[14] < HPC_SPLIT_N;
    const uint8_t *hash = sound ? sqlite3_column_blob(q, 12) : NULL;
    if (!hash)
        return hpc_fail(HPC_E_FORMAT, "%s is damaged: loop %lld has a value out of range",
                        d->path.data, (long long)number[0]);
    const char *api = text_of(q, 8);
    *id = number[0];
    *r = (loops_record){.hash = hash_of(hash),
                        .file = number[1],
                        .line = (uint32_t)number[2],
                        .end_line = (uint32_t)number[3],
                        .begin = (uint32_t)number[4],
                        .end = (uint32_t)number[5],
                        .words = (uint32_t)number[9],
                        .depth = (int32_t)number[6],
                        .api = strcmp(api, "omp") == 0   ? HPC_DIRECTIVE_OMP
                               : strcmp(api, "acc") == 0 ? HPC_DIRECTIVE_ACC
                                                         : HPC_DIRECTIVE_NONE,
                        .kind = (uint8_t)number[10],
                        .language = (uint8_t)number[13],
                        .split = (uint8_t)number[14],
                        .repository = "",
                        .path = "",
                        .licence = "",
                        .function = text_of(q, 7),
                        .directive = text_of(q, 11),
                        .header = "",
                        .text = ""};
    return 1;
}
