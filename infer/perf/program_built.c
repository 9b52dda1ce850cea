/*
 * Source files of the measured program, from a compile_commands.json.
 */
#include "infer/perf/change.h"
#include "runtime/base/base.h"

enum { DATABASE_BYTES = 256 << 20 };

static int add_entry(hpc_perf_program *out, const char **list, const hpc_json *entry, hpc_arena *a,
                     const char *path, int64_t k)
{
    const hpc_json *file = hpc_json_get(entry, "file"), *folder = hpc_json_get(entry, "directory");
    const char *name, *dir = "";
    int rc = HPC_OK;
    if (!file || hpc_json_text(&name, file, "file") < 0) {
        hpc_error_clear();
        return hpc_fail(HPC_E_FORMAT, "%s: entry %lld names no file", path, (long long)k + 1);
    }
    if (name[0] != '/' && folder) TRY(hpc_json_text(&dir, folder, "directory"));
    list[out->built_n] = hpc_arena_text(a, "%s%s%s", dir, dir[0] ? "/" : "", name);
    if (!list[out->built_n]) TRY(HPC_E_NOMEM);
    out->built_n++;
out:
    return rc;
}

int hpc_perf_program_read_built(hpc_perf_program *out, const char *path, hpc_arena *a)
{
    hpc_buf text = {0};
    hpc_json *root = NULL;
    int rc;
    TRY(hpc_file_read(&text, path, DATABASE_BYTES));
    TRY(hpc_json_parse(&root, text.data, text.n, path));
    if (hpc_json_kind_of(root) != HPC_JSON_LIST)
        TRY(hpc_fail(HPC_E_FORMAT, "%s is not a compile_commands.json: it is not a list", path));
    const char **list = hpc_arena_alloc(a, (size_t)hpc_json_n(root) + 1, sizeof *list);
    if (!list) TRY(HPC_E_NOMEM);
    out->built = list;
    for (int64_t k = 0; k < hpc_json_n(root); k++)
        TRY(add_entry(out, list, hpc_json_at(root, k), a, path, k));
out:
    hpc_json_free(root);
    hpc_buf_release(&text);
    return rc;
}
