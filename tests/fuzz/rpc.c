/*
 * Fuzz target: any bytes as the input of the language server's framing, and the messages in it as
 * JSON.
 */
#include <stdlib.h>
#include <unistd.h>

#include "infer/serve/rpc.h"

enum { MOST = 1 << 15 }; /* a pipe holds it */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hpc_rpc r;
    hpc_buf body = {0};
    int ends[2];
    if (size > MOST || pipe(ends) < 0) return 0;
    if (write(ends[1], data, size) != (ssize_t)size) abort();
    close(ends[1]);
    hpc_rpc_open(&r, ends[0], -1);
    while (hpc_rpc_read(&body, &r) > 0) {
        hpc_json *root = NULL;
        if (hpc_rpc_parse(&root, &body) < 0 && root) abort();
        hpc_json_free(root);
        hpc_error_clear();
    }
    hpc_error_clear();
    hpc_rpc_close(&r);
    hpc_buf_release(&body);
    close(ends[0]);
    return 0;
}
