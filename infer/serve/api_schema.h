/* JSON Schema as a grammar in GBNF: private to infer/serve/api*.c. */
#ifndef HPC_SERVE_API_SCHEMA_H
#define HPC_SERVE_API_SCHEMA_H

#include "runtime/base/base.h"

/* Appends the grammar of the JSON values that the schema v accepts. HPC_E_UNSUPPORTED: a keyword is
 * not supported; HPC_E_ARG: a keyword has a wrong value. The message names the keyword. */
int api_schema_grammar(hpc_buf *out, const hpc_json *v);

#endif
