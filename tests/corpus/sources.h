/*
 * sources.h: repositories of generated code for tests of the harvest.
 */
#ifndef HPC_TESTS_CORPUS_SOURCES_H
#define HPC_TESTS_CORPUS_SOURCES_H

#include "tests/git/repository.h"

/* Code of different seeds has little in common; versions of one seed are nearly equal. */
static inline void add_code(hpc_buf *b, uint32_t seed, uint32_t version, int functions)
{
    hpc_buf_printf(b, "/* SPDX-License-Identifier: MIT */\n#include <math.h>\n\n");
    for (int f = 0; f < functions; f++) {
        hpc_buf_printf(b, "double f%u_%d(const double *p, int n)\n{\n    double s = 0;\n", seed, f);
        if (f == 0) hpc_buf_printf(b, "    s += %u;\n", version);
        for (uint32_t k = 0; k < 6; k++) {
            uint32_t r[4];
            hpc_random_block(r, seed, (uint32_t)f, 5, k);
            hpc_buf_printf(b, "    for (int i = %u; i < n; i++) s += v%u[i] * %u.%u - w%u(x%u);\n",
                           r[0] % 90, r[1] % 900, r[2] % 900, r[3] % 900, r[0] >> 8 & 1023,
                           r[1] >> 12 & 1023);
        }
        hpc_buf_printf(b, "    return s;\n}\n\n");
    }
}

static inline void write_text(place *p, const char *name, const char *text, size_t n)
{
    char path[400], folder[400];
    snprintf(path, sizeof path, "%s/%s", p->root, name);
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(hpc_file_mkdir(folder), 0);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline void write_code(place *p, const char *name, uint32_t seed, uint32_t version)
{
    hpc_buf b = {0};
    add_code(&b, seed, version, 4);
    assert_int_equal(b.failed, 0);
    write_text(p, name, b.data, b.n);
    hpc_buf_release(&b);
}

/* Writes repository "rK" with `commits` commits and `files` files; each commit changes a third of
 * them. It shares two files with its third neighbour, too few to form a cluster. */
static inline void write_repository(place *p, int number, int files, int commits)
{
    char name[64], text[256];
    snprintf(text, sizeof text, "new r%d; git config core.fsync none", number);
    script(p, text);
    for (int c = 0; c < commits; c++) {
        for (int k = c == 0 ? 0 : c % 3; k < files; k += c == 0 ? 1 : 3) {
            int owner = (k == 9 || k == 19) && number >= 3 ? number - 3 : number;
            snprintf(name, sizeof name, "r%d/src/part%d/file%d.c", number, k / 20, k);
            bool near = owner != number && k == 19; /* the other is equal */
            write_code(p, name, (uint32_t)(owner * 10000 + k), (uint32_t)(near ? 1000 + c : c));
        }
        snprintf(text, sizeof text, "cd r%d; save", number);
        script(p, text);
    }
}

#endif
