/*
 * secrets.h: recognises secrets in a text, for masking by secrets.c.
 */
#ifndef HPC_CORPUS_SECRETS_H
#define HPC_CORPUS_SECRETS_H

#include "corpus/priv.h"

static inline bool secrets_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool secrets_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool secrets_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool secrets_is_alnum(char c)
{
    return secrets_is_digit(c) || secrets_is_lower(c) || secrets_is_upper(c);
}

/* ---- secrets_shape.c: credentials with a fixed shape ----------------------------------------- */
enum { SECRETS_SHAPES_MOST = 160 };
typedef struct secrets_shapes {
    bool word[256];           /* bytes that occur in words */
    uint8_t n[128], end[128]; /* number of shapes that start with a byte; their end in `order` */
    uint8_t order[SECRETS_SHAPES_MOST];
} secrets_shapes;
void secrets_shapes_init(secrets_shapes *out);
/* Finds the first credential at or after *at: sets *at and returns its length; 0: none. */
size_t secrets_next_shape(size_t *at, const secrets_shapes *x, const char *text, size_t n);

/* ---- secrets_value.c: values assigned to the name of a secret -------------------------------- */
/* End of the name of a secret whose head (see secrets.c) is at `at`; 0: none. */
size_t secrets_name_end(const char *text, size_t n, size_t at);
/* Finds the value assigned to the name that ends at `end`, as [*lo, *hi), if it looks like a
 * secret. limit: end of the string or comment that contains the name; 0: in code, where only a
 * string is a value. */
bool secrets_value(size_t *lo, size_t *hi, const char *text, size_t n, size_t end, size_t limit);

#endif
