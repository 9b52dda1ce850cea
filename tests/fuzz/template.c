/*
 * Fuzz target: any bytes as a chat template, rendered for a conversation with tools.
 */
#include <string.h>

#include "infer/template/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char variables[] =
    "{\"messages\":[{\"role\":\"system\",\"content\":\" Be brief. \"},"
    "{\"role\":\"user\",\"content\":\"Hi \\u00e9\\ud83d\\ude00 'q' \\\"x\\\"\\n\"},"
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"function\":{\"name\":\"f\","
    "\"arguments\":{\"a\":[1,2.5,true,null],\"b\":{}}}}]},{\"role\":\"tool\",\"content\":\"{}\"}],"
    "\"tools\":[{\"function\":{\"name\":\"f\",\"parameters\":{\"a\":\"int\"}}}],"
    "\"add_generation_prompt\":true,\"bos_token\":\"<s>\"}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hpc_template_variable v[8];
    hpc_template_input in = {.variable = v};
    hpc_template_output out = {0};
    hpc_template *t = NULL;
    hpc_json *root = NULL;
    if (hpc_json_parse(&root, variables, sizeof variables - 1, "variables") < 0) return 0;
    for (; in.n < hpc_json_n(root); in.n++) {
        v[in.n].name = hpc_json_key(root, in.n, &v[in.n].value);
        v[in.n].foreign = in.n == 0;
    }
    if (hpc_template_parse(&t, (const char *)data, size) >= 0 &&
        hpc_template_render(&out, t, &in) >= 0)
        hpc_assert(out.text.n == out.foreign.n);
    hpc_error_clear();
    hpc_template_output_release(&out);
    hpc_template_free(t);
    hpc_json_free(root);
    return 0;
}
