/*
 * passages.c: fuzz target: any bytes as a passage index, with checksum and lexer corrected, and a
 * text to look up.
 *
 * The first byte gives the number of final bytes that are the text; the rest is the file.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/source/passage_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void seal(uint8_t *file, size_t n)
{
    uint64_t lexer = 0;
    if (n < PASSAGE_HEADER + PASSAGE_HASH) return;
    if (hpc_lexer_hash(&lexer) < 0) abort();
    hpc_put64(file + PASSAGE_AT_LEXER, lexer);
    hpc_put_hash(file + n - PASSAGE_HASH, hpc_hash_wide(file, n - PASSAGE_HASH));
}

/* bytes: of the file, which has all names */
static void find(const hpc_passages *p, size_t bytes, const char *text, size_t n)
{
    hpc_tokens t = {0};
    hpc_passage_list l = {0};
    if (hpc_lex(&t, text, n, HPC_LANGUAGE_C, false) < 0) abort();
    if (hpc_passages_find(&l, p, &t, 0, t.n) < 0) abort();
    for (int64_t k = 0; k < l.n; k++) {
        const hpc_passage *x = &l.item[k];
        if (x->first < 0 || x->first >= x->last || x->last > t.n) abort();
        if (x->tokens < HPC_PASSAGE_SPAN || x->tokens > x->last - x->first) abort();
        if (x->sources_n < 1) abort();
        for (int i = 0; i < x->sources_n; i++)
            if (strlen(hpc_passages_source(p, x->source[i])->licence) > bytes) abort();
    }
    hpc_passage_list_release(&l);
    hpc_tokens_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    hpc_passages *p = NULL;
    hpc_passages_facts facts;
    if (n == 0) return 0;
    size_t text = data[0] < n - 1 ? data[0] : n - 1, bytes = n - 1 - text;
    uint8_t *file = malloc(bytes + 1); /* exact size, so that a read past its end is detected */
    if (!file) abort();
    memcpy(file, data + 1, bytes);
    seal(file, bytes);
    if (hpc_passages_parse(&p, file, bytes, "fuzz") == 0) {
        hpc_passages_describe(&facts, p);
        for (int64_t k = 0; k < facts.sources_n; k++)
            if (!hpc_passages_source(p, k)->repository) abort();
        find(p, bytes, (const char *)data + 1 + bytes, text);
    }
    hpc_passages_close(p);
    hpc_error_clear();
    free(file);
    return 0;
}
