/*
 * sarif.c: the parts of a log in SARIF 2.1.0 that do not depend on what is found.
 */
#include <string.h>

#include "cmd/sarif.h"

void sarif_put_place(hpc_json_out *w, const char *path)
{
    hpc_buf uri = {0};
    if (path[0] == '/') hpc_buf_text(&uri, "file://");
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || strchr("/._-~", *p);
        hpc_buf_printf(&uri, plain ? "%c" : "%%%02X", *p);
    }
    hpc_json_open(w, "artifactLocation", '{');
    hpc_json_put_text(w, "uri", uri.failed < 0 ? path : uri.data);
    hpc_json_close(w, '}');
    hpc_buf_release(&uri);
}

void sarif_put_message(hpc_json_out *w, const char *key, const char *text)
{
    hpc_json_open(w, key, '{');
    hpc_json_put_text(w, "text", text);
    hpc_json_close(w, '}');
}

void sarif_put_driver(hpc_json_out *w, const char *name, const sarif_rule *rule, size_t n)
{
    hpc_json_open(w, "tool", '{');
    hpc_json_open(w, "driver", '{');
    hpc_json_put_text(w, "name", name);
    hpc_json_put_text(w, "version", HPC_VERSION);
    hpc_json_open(w, "rules", '[');
    for (size_t k = 0; k < n; k++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "id", rule[k].id);
        sarif_put_message(w, "shortDescription", rule[k].text);
        hpc_json_open(w, "defaultConfiguration", '{');
        hpc_json_put_text(w, "level", rule[k].level);
        hpc_json_close(w, '}');
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
}
