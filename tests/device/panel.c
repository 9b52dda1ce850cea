/*
 * panel.c: PANEL16: the position of each element for all types, in full panels and the last one,
 * and round trips of rows.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runtime/device/priv.h"

enum { ROWS = 37, BYTES = 1 << 17 };

/* By block format: 2-byte numbers before or after its pack units (at). An element of another type
 * is one number. */
static const struct {
    hpc_dtype dtype;
    int numbers, at;
    int64_t k[3];
} of[] = {{HPC_F32, 0, 0, {1, 7, 40}},         {HPC_F64, 0, 0, {1, 5, 24}},
          {HPC_BF16, 0, 0, {1, 13, 48}},       {HPC_F16, 0, 0, {3, 8, 21}},
          {HPC_Q8_0, 1, 0, {32, 96, 320}},     {HPC_Q4_0, 1, 0, {32, 96, 320}},
          {HPC_Q4_K, 2, 0, {256, 512, 768}},   {HPC_Q5_K, 2, 0, {256, 512, 768}},
          {HPC_Q6_K, 1, 208, {256, 512, 768}}, {HPC_Q4_1, 2, 0, {32, 96, 320}},
          {HPC_Q5_0, 1, 0, {32, 96, 320}},     {HPC_Q5_1, 2, 0, {32, 96, 320}},
          {HPC_Q2_K, 2, 80, {256, 512, 768}},  {HPC_Q3_K, 1, 108, {256, 512, 768}},
          {HPC_IQ4_NL, 1, 0, {32, 96, 320}},   {HPC_IQ4_XS, 2, 0, {256, 512, 768}}};

/* Where byte `at` of block `block` of row `row` is. */
static size_t place(int i, int64_t k, size_t row, size_t block, size_t at)
{
    const hpc_dtype_info *info = hpc_dtype_get(of[i].dtype);
    size_t bytes = info->block_bytes, blocks = (size_t)(k / info->block);
    size_t panel = row / 16 * blocks * bytes * 16 + block * bytes * 16, r = row % 16;
    size_t head = 2 * (size_t)of[i].numbers, from = (size_t)of[i].at;
    if (!info->quantised) return panel + r * bytes + at;
    if (at >= from && at < from + head)
        return panel + ((at - from) / 2 * 16 + r) * 2 + (at - from) % 2;
    at -= from ? 0 : head;
    return panel + head * 16 + (at / 4 * 16 + r) * 4 + at % 4;
}

static void check(int i, int64_t k, size_t n, const uint8_t *rows, const uint8_t *panels)
{
    const hpc_dtype_info *info = hpc_dtype_get(of[i].dtype);
    size_t bytes = info->block_bytes, blocks = (size_t)(k / info->block);
    for (size_t r = 0; r < (n + 15) / 16 * 16; r++)
        for (size_t b = 0; b < blocks; b++)
            for (size_t at = 0; at < bytes; at++) {
                int want = r < n ? rows[(r * blocks + b) * bytes + at] : 0;
                int got = panels[place(i, k, r, b, at)];
                if (want != got)
                    fail_msg("%s, %zu rows of %lld: byte %zu of block %zu of row %zu", info->name,
                             n, (long long)k, at, b, r);
            }
}

static void each_byte_has_its_place(void **state)
{
    static uint8_t rows[BYTES], panels[BYTES + 1];
    static const size_t counts[] = {1, 15, 16, 17, ROWS};
    (void)state;
    for (size_t b = 0; b < sizeof rows; b++) rows[b] = (uint8_t)(1 + b * 2654435761u % 255);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int j = 0; j < 3; j++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                const hpc_dtype_info *info = hpc_dtype_get(of[i].dtype);
                size_t row = (size_t)(of[i].k[j] / info->block) * info->block_bytes;
                size_t all = (counts[c] + 15) / 16 * 16 * row;
                assert_true(all <= BYTES);
                memset(panels, 0xff, sizeof panels);
                hpc_panel16(panels, rows, of[i].dtype, (int64_t)counts[c], of[i].k[j]);
                check((int)i, of[i].k[j], counts[c], rows, panels);
                assert_int_equal(panels[all], 0xff); /* and nothing after it */
            }
}

/* Rows that lie anywhere, as in a mapped file. */
static void rows_need_no_alignment(void **state)
{
    static uint8_t rows[BYTES], odd[BYTES + 3], panels[2][BYTES];
    (void)state;
    for (size_t b = 0; b < sizeof rows; b++) rows[b] = (uint8_t)(b * 2654435761u >> 7);
    memcpy(odd + 3, rows, sizeof rows);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        hpc_panel16(panels[0], rows, of[i].dtype, 16, of[i].k[2]);
        hpc_panel16(panels[1], odd + 3, of[i].dtype, 16, of[i].k[2]);
        assert_memory_equal(panels[0], panels[1], sizeof panels[0]);
    }
}

static void rows_come_back(void **state)
{
    static uint8_t rows[BYTES], panels[BYTES], out[BYTES];
    (void)state;
    for (size_t b = 0; b < sizeof rows; b++) rows[b] = (uint8_t)(b * 2654435761u >> 9);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const hpc_dtype_info *info = hpc_dtype_get(of[i].dtype);
        int64_t k = of[i].k[2], first = k / info->block / 3 * info->block;
        size_t row = (size_t)(k / info->block) * info->block_bytes;
        size_t at = (size_t)(first / info->block) * info->block_bytes;
        hpc_panel16(panels, rows, of[i].dtype, ROWS, k);
        for (int64_t r = 0; r < ROWS; r++) {
            memset(out, 0, row);
            hpc_panel16_row(out, panels, of[i].dtype, k, r, 0, k);
            assert_memory_equal(out, rows + (size_t)r * row, row);
            memset(out, 0, row);
            hpc_panel16_row(out, panels, of[i].dtype, k, r, first, info->block);
            assert_memory_equal(out, rows + (size_t)r * row + at, info->block_bytes);
            assert_int_equal(out[info->block_bytes], 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_has_its_place),
        cmocka_unit_test(rows_need_no_alignment),
        cmocka_unit_test(rows_come_back),
    };
    return cmocka_run_group_tests_name("device/panel", tests, NULL, NULL);
}
