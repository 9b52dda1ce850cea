/*
 * Facts in the words of Ollama and of Tabby. A key that this server has no value for is left out.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "infer/serve/api_priv.h"

/* ---- Ollama --------------------------------------------------------------------------------- */

static bool is_gguf(const hpc_api *a)
{
    const char *path = a->o.scheduler.engine.model;
    const size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".gguf") == 0;
}

/* As Ollama writes it: 134.52M. */
static void put_size(hpc_json_out *w, int64_t params)
{
    char text[32];
    if (params >= 1000000000)
        snprintf(text, sizeof text, "%.1fB", (double)params * 1e-9);
    else if (params >= 1000000)
        snprintf(text, sizeof text, "%.2fM", (double)params * 1e-6);
    else
        snprintf(text, sizeof text, "%.2fK", (double)params * 1e-3);
    hpc_json_put_text(w, "parameter_size", text);
}

static void put_details(hpc_json_out *w, const hpc_api *a)
{
    const hpc_model_config *c = hpc_model_files_config(a->files);
    hpc_json_open(w, "details", '{');
    if (is_gguf(a)) hpc_json_put_text(w, "format", "gguf");
    hpc_json_put_text(w, "family", c->family);
    hpc_json_open(w, "families", '[');
    hpc_json_put_text(w, NULL, c->family);
    hpc_json_close(w, ']');
    put_size(w, hpc_model_config_params(c));
    hpc_json_close(w, '}');
}

static void put_modified(hpc_json_out *w, const struct stat *s)
{
    struct tm t;
    char text[40];
    gmtime_r(&s->st_mtime, &t);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t);
    hpc_json_put_text(w, "modified_at", text);
}

void api_ollama_tags(hpc_api *a, hpc_http_request *r)
{
    struct stat s;
    const bool known = stat(a->o.scheduler.engine.model, &s) == 0;
    hpc_buf out = {0};
    hpc_json_out w;
    api_begin_facts(&w, &out);
    hpc_json_open(&w, "models", '[');
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "name", a->o.model_name);
    hpc_json_put_text(&w, "model", a->o.model_name);
    if (known) put_modified(&w, &s);
    if (known && S_ISREG(s.st_mode)) hpc_json_put_int(&w, "size", s.st_size);
    put_details(&w, a);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, ']');
    api_send_facts(r, &w);
}

/* Clients look for .Suffix in the template to learn that the model fills in the middle. */
static bool put_template(hpc_json_out *w, const hpc_api *a)
{
    static const hpc_special marks[] = {HPC_SPECIAL_FIM_PREFIX, HPC_SPECIAL_FIM_SUFFIX,
                                        HPC_SPECIAL_FIM_MIDDLE};
    const char *name[3];
    hpc_buf text = {0};
    hpc_fim_order order = hpc_tokenizer_fim_order(a->tokenizer);
    bool all = order != HPC_FIM_NONE;
    for (int k = 0; k < 3; k++) {
        int32_t id = -1;
        name[k] = hpc_tokenizer_special_name(a->tokenizer, marks[k], &id);
        if (id < 0) name[k] = "";
    }
    if (order == HPC_FIM_SUFFIX_FIRST)
        hpc_buf_printf(&text, "%s{{ .Suffix }}%s{{ .Prompt }}%s", name[1], name[0], name[2]);
    else if (all)
        hpc_buf_printf(&text, "%s{{ .Prompt }}%s{{ .Suffix }}%s", name[0], name[1], name[2]);
    else
        hpc_buf_text(&text, "{{ .Prompt }}");
    if (text.failed >= 0) hpc_json_put_text(w, "template", text.data);
    hpc_buf_release(&text);
    return all;
}

static void put_number(hpc_json_out *w, const char *family, const char *name, int64_t value)
{
    char key[80];
    snprintf(key, sizeof key, "%s.%s", family, name);
    hpc_json_put_int(w, key, value);
}

static void put_model_info(hpc_json_out *w, const hpc_model_config *c)
{
    hpc_json_open(w, "model_info", '{');
    hpc_json_put_text(w, "general.architecture", c->family);
    hpc_json_put_int(w, "general.parameter_count", hpc_model_config_params(c));
    put_number(w, c->family, "context_length", c->positions);
    put_number(w, c->family, "embedding_length", c->hidden);
    put_number(w, c->family, "block_count", c->layers);
    put_number(w, c->family, "feed_forward_length", c->ffn);
    put_number(w, c->family, "attention.head_count", c->heads);
    put_number(w, c->family, "attention.head_count_kv", c->kv_heads);
    put_number(w, c->family, "vocab_size", c->vocab);
    hpc_json_close(w, '}');
}

void api_ollama_show(hpc_api *a, hpc_http_request *r)
{
    struct stat s;
    hpc_buf out = {0};
    hpc_json_out w;
    api_begin_facts(&w, &out);
    const bool inserts = put_template(&w, a);
    put_details(&w, a);
    put_model_info(&w, hpc_model_files_config(a->files));
    hpc_json_open(&w, "capabilities", '[');
    hpc_json_put_text(&w, NULL, "completion");
    if (inserts) hpc_json_put_text(&w, NULL, "insert");
    hpc_json_close(&w, ']');
    if (stat(a->o.scheduler.engine.model, &s) == 0) put_modified(&w, &s);
    api_send_facts(r, &w);
}

void api_ollama_version(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    api_begin_facts(&w, &out);
    hpc_json_put_text(&w, "version", a->o.version);
    api_send_facts(r, &w);
}

/* ---- Tabby ---------------------------------------------------------------------------------- */

void api_tabby_health(hpc_api *a, hpc_http_request *r)
{
    const char *device = a->o.scheduler.engine.backend;
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct utsname machine;
    hpc_buf out = {0};
    hpc_json_out w;
    api_begin_facts(&w, &out);
    hpc_json_put_text(&w, "model", a->o.model_name);
    hpc_json_put_text(&w, "device", device ? device : "cpu");
    if (uname(&machine) == 0) hpc_json_put_text(&w, "arch", machine.machine);
    if (cpus > 0) hpc_json_put_int(&w, "cpu_count", cpus);
    hpc_json_open(&w, "version", '{');
    hpc_json_put_text(&w, "git_describe", a->o.version);
    hpc_json_close(&w, '}');
    api_send_facts(r, &w);
}

void api_tabby_setting(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    (void)a;
    api_begin_facts(&w, &out);
    hpc_json_put_bool(&w, "disable_client_side_telemetry", true);
    api_send_facts(r, &w);
}

/* Accepted and dropped: nothing is recorded about users. */
void api_tabby_event(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    (void)a;
    api_begin_facts(&w, &out);
    api_send_facts(r, &w);
}
