/*
 * inline.h: evaluation of calls by the expression that their function returns, with the parameters
 * bound to the arguments.
 */
#ifndef HPC_PRAGMA_INLINE_H
#define HPC_PRAGMA_INLINE_H

#include "infer/pragma/walk.h"

typedef struct binding {
    int32_t symbol;
    bool by_place;
    place place;
    const poly *is;
    const struct binding *next;
} binding;
enum { INLINE_ARGUMENTS = 6 };
typedef struct inlined {
    int32_t e; /* the returned expression */
    place object;
    binding argument[INLINE_ARGUMENTS];
    const binding *bindings; /* of the caller, as the three below */
    const place *self;
    int32_t at;
} inlined;
/* False: the call cannot be inlined; accesses of evaluated arguments are recorded. */
bool inline_begin(inlined *in, walk *w, int32_t call);
void inline_end(const inlined *in, walk *w);
const binding *binding_of(const walk *w, int32_t symbol); /* NULL: none */
bool inline_object(place *out, walk *w, int32_t call);    /* of a method; false: unknown */

#endif
