/*
 * Fuzz target: any bytes as a file of the KV store, under its own name and with another number of
 * tokens in the name; and as a segment that is stored and found again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "infer/serve/kv_store.h"

enum { SEGMENT = 4, TOKENS = 2 * SEGMENT };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int32_t token[TOKENS] = {1, 2, 3, 4, 5, 6, 7, 8};

static hpc_kv_store *open_store(const char *folder)
{
    hpc_kv_store *s = NULL;
    const hpc_kv_store_options o = {.folder = folder,
                                    .identity = {.low = 1, .high = 2},
                                    .bytes = 1 << 24,
                                    .expire_s = 1 << 20,
                                    .segment = SEGMENT};
    if (hpc_kv_store_open(&s, &o) < 0) abort();
    return s;
}

/* Looks for both segments, and counts what is found. */
static int look(const char *folder, const uint8_t *data, size_t size)
{
    hpc_kv_store *s = open_store(folder);
    hpc_buf out = {0};
    bool found;
    int n = 0;
    for (int64_t end = SEGMENT; end <= TOKENS; end += SEGMENT) {
        hpc_kv_store_get(&out, &found, s, token, end);
        n += found;
        if (found && (out.n != size || (size > 0 && memcmp(out.data, data, size) != 0))) abort();
        hpc_error_clear();
    }
    hpc_buf_release(&out);
    hpc_kv_store_close(s);
    return n;
}

static void put(const char *folder, const uint8_t *data, size_t size)
{
    hpc_kv_store *s = open_store(folder);
    if (hpc_kv_store_put(s, token, TOKENS, data, size) < 0) abort();
    hpc_kv_store_close(s);
}

/* The file with other content, and with the number of the last two bytes in its name. */
static void damage(const char *folder, const uint8_t *data, size_t size)
{
    char from[4096], to[4096];
    hpc_buf names = {0};
    int64_t n;
    if (hpc_file_list(&names, &n, folder) < 0 || n != 1) abort();
    snprintf(from, sizeof from, "%s/%s", folder, names.data);
    if (size >= 2) {
        const int number = (int)data[size - 1] - data[size - 2];
        snprintf(to, sizeof to, "%s/%.32s-%d.kv", folder, names.data, number);
        if (rename(from, to) < 0) abort();
        look(folder, data, size);
        if (hpc_file_exists(to)) rename(to, from);
    }
    if (hpc_file_save(from, (const char *)data, size) < 0) abort();
    look(folder, data, size);
    if (hpc_file_exists(from)) unlink(from);
    hpc_buf_release(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/hpccoder-fuzz-XXXXXX";
    if (!mkdtemp(folder)) return 0;
    put(folder, data, size);
    if (look(folder, data, size) != 1) abort();
    damage(folder, data, size);
    hpc_file_sweep(folder);
    rmdir(folder);
    hpc_error_clear();
    return 0;
}
