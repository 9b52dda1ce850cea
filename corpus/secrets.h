/*
 * What the files of secret masking share: edits, classes of characters, and the search for secrets
 * that are assigned to a name.
 */
#ifndef HPC_CORPUS_SECRETS_H
#define HPC_CORPUS_SECRETS_H

#include "corpus/priv.h"

typedef struct secret_edit {
    size_t lo, hi; /* bytes of the text, which become `word` */
    const char *word;
} secret_edit;

typedef struct masking {
    hpc_buf edits; /* as they are found */
    const char *text;
    size_t n;
    size_t credential_end, key_end; /* of the last one: what is before is not looked at again */
} masking;
int secret_replace(masking *m, size_t lo, size_t hi);

static inline bool secret_is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool secret_is_key(char c) /* of keys in base64 and its relatives */
{
    return secret_is_alnum(c) || c == '_' || c == '-' || c == '+' || c == '/' || c == '=';
}

static inline bool secret_is_word(char c)
{
    return secret_is_alnum(c) || c == '_' || c == '-';
}

static inline size_t secret_run(const char *s, size_t lo, size_t hi, bool (*is)(char))
{
    size_t at = lo;
    while (at < hi && is(s[at])) at++;
    return at - lo;
}

/* secrets_assigned.c: strings given to a name like password or api_key, and "password=..." within
 * strings and comments. */
int secret_mask_assignments(masking *m, const hpc_tokens *t);

#endif
