/*
 * Grammars of requests: GBNF, a JSON schema, or any JSON object; and the state of each answer.
 */
#include <string.h>

#include "infer/serve/api_priv.h"
#include "infer/serve/api_schema.h"

static bool is_given(const hpc_json *v)
{
    const char *text = "";
    if (hpc_json_kind_of(v) != HPC_JSON_TEXT) return v && hpc_json_kind_of(v) != HPC_JSON_NULL;
    hpc_json_text(&text, v, "");
    return *text != '\0';
}

/* *any: any JSON object; *schema: its values. OpenAI's form has the schema one level deeper. */
static int read_format(const hpc_json **schema, bool *any, const hpc_json *format)
{
    const hpc_json *inner = hpc_json_get(format, "json_schema");
    const char *type = api_text(format, "type");
    if (!is_given(format)) return HPC_OK;
    if (hpc_json_kind_of(format) != HPC_JSON_OBJECT)
        return hpc_fail(HPC_E_ARG, "\"response_format\" must be an object");
    if (strcmp(type, "text") == 0) return HPC_OK;
    if (strcmp(type, "json_object") == 0) {
        *schema = hpc_json_get(format, "schema");
        *any = !*schema;
        return HPC_OK;
    }
    if (strcmp(type, "json_schema") != 0)
        return hpc_fail(HPC_E_ARG, "\"response_format\": the type must be text, json_object or "
                                   "json_schema");
    *schema = hpc_json_kind_of(inner) == HPC_JSON_OBJECT ? hpc_json_get(inner, "schema") : NULL;
    if (!*schema) *schema = hpc_json_get(format, "schema");
    return *schema ? HPC_OK : hpc_fail(HPC_E_ARG, "\"response_format\" has no schema");
}

/* Ollama: "json", or a schema. */
static int read_ollama(const hpc_json **schema, bool *any, const hpc_json *o)
{
    const hpc_json *format = hpc_json_get(o, "format");
    if (!is_given(format)) return HPC_OK;
    *any = strcmp(api_text(o, "format"), "json") == 0;
    if (!*any && hpc_json_kind_of(format) != HPC_JSON_OBJECT)
        return hpc_fail(HPC_E_ARG, "\"format\" must be \"json\" or a JSON schema");
    if (!*any) *schema = format;
    return HPC_OK;
}

static int parse(api_ask *q, const hpc_json *schema, bool any)
{
    static const char object[] = "{\"type\":\"object\"}";
    hpc_json *own = NULL;
    hpc_buf text = {0};
    int rc;
    if (any) TRY(hpc_json_parse(&own, object, sizeof object - 1, "schema"));
    TRY(api_schema_grammar(&text, any ? own : schema));
    rc = hpc_gbnf_parse(&q->gbnf, text.data, text.n);
out:
    hpc_json_free(own);
    hpc_buf_release(&text);
    return rc;
}

int api_grammar_read(api_job *j)
{
    api_ask *q = &j->ask;
    const hpc_json *o = j->json, *grammar = hpc_json_get(o, "grammar"), *schema = NULL;
    const char *text = api_text(o, "grammar");
    bool any = false;
    int rc;
    if (is_given(hpc_json_get(o, "json_schema"))) schema = hpc_json_get(o, "json_schema");
    TRY(read_format(&schema, &any, hpc_json_get(o, "response_format")));
    if (q->format == API_OLLAMA) TRY(read_ollama(&schema, &any, o));
    if (is_given(grammar) && hpc_json_kind_of(grammar) != HPC_JSON_TEXT)
        return hpc_fail(HPC_E_ARG, "\"grammar\" must be a text");
    if (is_given(grammar) && (schema || any))
        return hpc_fail(HPC_E_ARG, "\"grammar\" and a JSON schema exclude each other");
    if (!is_given(grammar) && !schema && !any) return HPC_OK;
    if (q->infill)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "\"grammar\" and JSON schemas are not supported at a position");
    rc = *text ? hpc_gbnf_parse(&q->gbnf, text, strlen(text)) : parse(q, schema, any);
out:
    return rc;
}

int api_vocabulary(const hpc_vocabulary **out, hpc_api *a)
{
    int rc = HPC_OK;
    pthread_mutex_lock(&a->lock);
    if (!a->vocabulary)
        rc = hpc_vocabulary_create(&a->vocabulary, a->tokenizer,
                                   hpc_model_files_config(a->files)->vocab);
    *out = a->vocabulary;
    pthread_mutex_unlock(&a->lock);
    return rc;
}

int api_grammar_create(hpc_grammar **out, const api_job *j, const int32_t *end, int64_t end_n)
{
    const hpc_vocabulary *v;
    *out = NULL;
    if (!j->ask.gbnf) return HPC_OK;
    const int rc = api_vocabulary(&v, j->a);
    if (rc < 0) return rc;
    return hpc_grammar_create(
        out, v,
        &(hpc_grammar_options){.rule = {.kind = HPC_GRAMMAR_GBNF, .gbnf = j->ask.gbnf},
                               .end = end,
                               .end_n = end_n,
                               .begins = j->route->chat});
}
