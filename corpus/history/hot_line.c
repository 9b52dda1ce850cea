/*
 * Keys of source lines, and shares of cost by key.
 */
#include "corpus/history/hot_line.h"

enum { FAR = 8 }; /* lines that may be blank before a neighbour */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* 0: there is no such line, or nothing on it. */
static uint64_t hash_of(const char *text, const uint32_t *line, uint32_t n, int64_t number)
{
    if (number < 1 || number > n) return 0;
    uint32_t at = line[number - 1], end = line[number];
    while (at < end && is_space(text[at])) at++;
    while (at < end && is_space(text[end - 1])) end--;
    return at < end ? hpc_hash(text + at, end - at, 0) | 1 : 0;
}

uint32_t hpc_line_key(const char *text, const uint32_t *line, uint32_t n, uint32_t number)
{
    uint64_t all[3] = {0, hash_of(text, line, n, number), 0};
    if (all[1] == 0) return 0;
    for (int k = 1; k <= FAR && all[0] == 0; k++)
        all[0] = hash_of(text, line, n, (int64_t)number - k);
    for (int k = 1; k <= FAR && all[2] == 0; k++)
        all[2] = hash_of(text, line, n, (int64_t)number + k);
    uint32_t key = (uint32_t)(hpc_hash(all, sizeof all, 0) >> 32);
    return key ? key : 1;
}

float hpc_hot_share(const hpc_hot_line *hot, int64_t n, uint32_t key)
{
    int64_t lo = 0, hi = n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (hot[mid].key < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && hot[lo].key == key ? hot[lo].share : 0;
}
