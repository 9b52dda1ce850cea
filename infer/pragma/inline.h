/*
 * inline.h: calls that are looked through: what their function returns, with its parameters bound.
 */
#ifndef HPC_PRAGMA_INLINE_H
#define HPC_PRAGMA_INLINE_H

#include "infer/pragma/priv.h"

typedef struct binding {
    int32_t symbol;
    bool by_place;
    place place;
    const poly *is;
    const struct binding *next;
} binding;
enum { INLINE_ARGUMENTS = 6 };
typedef struct inlined {
    int32_t e; /* the expression that the call is */
    place object;
    binding argument[INLINE_ARGUMENTS];
    const binding *bindings;
    const place *self;
    int32_t at;
} inlined;
/* False: the call cannot be looked through; what was looked at counts as read. */
bool inline_begin(inlined *in, study *s, int32_t call);
void inline_end(const inlined *in, study *s);
const binding *binding_of(const study *s, int32_t symbol); /* NULL: none */
bool inline_object(place *out, study *s, int32_t call);

#endif
