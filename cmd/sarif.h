/*
 * sarif.h: what logs in SARIF 2.1.0 have alike, whatever is found.
 */
#ifndef HPC_CMD_SARIF_H
#define HPC_CMD_SARIF_H

#include "cmd/cmd.h"

#define SARIF_SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"

typedef struct sarif_rule {
    const char *id, *level, *text;
} sarif_rule;
/* The key "tool". */
void sarif_put_driver(hpc_json_out *w, const char *name, const sarif_rule *rule, size_t n);
/* The key "artifactLocation": a path as a URI, relative where the path is. */
void sarif_put_place(hpc_json_out *w, const char *path);
void sarif_put_message(hpc_json_out *w, const char *key, const char *text);

#endif
