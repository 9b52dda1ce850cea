/*
 * Calls of SQLite with errors mapped to ours.
 */
#include "corpus/history/database_priv.h"

int perf_refused(const hpc_history_db *d, int code)
{
    if (code == SQLITE_NOMEM) return hpc_fail(HPC_E_NOMEM, "out of memory for %s", d->path.data);
    bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR;
    return hpc_fail(damaged ? HPC_E_FORMAT : HPC_E_IO, "%.300s: %s", d->path.data,
                    d->db ? sqlite3_errmsg(d->db) : sqlite3_errstr(code));
}

int perf_prepare(hpc_history_db *d, sqlite3_stmt **out, const char *sql)
{
    int code = sqlite3_prepare_v2(d->db, sql, -1, out, NULL);
    return code == SQLITE_OK ? HPC_OK : perf_refused(d, code);
}

int perf_run(hpc_history_db *d, const char *sql)
{
    int code = sqlite3_exec(d->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? HPC_OK : perf_refused(d, code);
}
