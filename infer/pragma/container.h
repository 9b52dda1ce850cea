/*
 * container.h: values and places of calls of the library's containers and views: begin(), size(),
 * back().
 */
#ifndef HPC_PRAGMA_CONTAINER_H
#define HPC_PRAGMA_CONTAINER_H

#include "infer/pragma/walk.h"

bool is_container_call(const walk *w, int32_t call); /* of a method, or std::begin(v) */
/* Each evaluates a call; NULL: the result is not known, or the call is another one. */
const poly *container_size(walk *w, int32_t call);      /* v.size() */
const poly *container_length(walk *w, int32_t e);       /* of an object, not of a call */
const poly *container_pointer(walk *w, int32_t call);   /* v.begin(), v.end(), v.data() */
const poly *container_view(walk *w, int32_t construct); /* std::span(p, n) */
bool container_end(place *out, walk *w, int32_t call);  /* v.front(), v.back() */

#endif
