/*
 * Settings of the language server: initializationOptions, workspace/configuration and
 * workspace/didChangeConfiguration. Unknown keys and wrong values are reported once.
 */
#include "infer/serve/lsp_settings.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "infer/serve/lsp_priv.h"

typedef enum kind { SWITCH, SWITCHES, INTEGER, REAL, TEXT } kind;

typedef struct setting {
    const char *name;
    kind kind;
    size_t offset;
    double least, most;
    const char *expected;
} setting;

static const setting settings[] = {
    {"completion", SWITCHES, offsetof(lsp_settings, completion), 0, 0, "true, false or languages"},
    {"pragma", SWITCHES, offsetof(lsp_settings, pragma), 0, 0, "true, false or languages"},
    {"perf", SWITCHES, offsetof(lsp_settings, perf), 0, 0, "true, false or languages"},
    {"guard", SWITCH, offsetof(lsp_settings, guard), 0, 0, "true or false"},
    {"threads", INTEGER, offsetof(lsp_settings, threads), 0, 4096, "an integer from 0 to 4096"},
    {"model", TEXT, offsetof(lsp_settings, model), 0, PATH_MAX - 1, "the path of a model"},
    {"maxTokens", INTEGER, offsetof(lsp_settings, tokens), 1, 4096, "an integer from 1 to 4096"},
    {"seconds", REAL, offsetof(lsp_settings, seconds), 0.01, 600, "a number from 0.01 to 600"},
    {"promptSeconds", REAL, offsetof(lsp_settings, prompt_seconds), 0, 600,
     "a number from 0 to 600"}};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* Names of languages in editors. */
static const struct {
    const char *id;
    hpc_language language;
} ids[] = {{"c", HPC_LANGUAGE_C},
           {"cpp", HPC_LANGUAGE_CPP},
           {"c++", HPC_LANGUAGE_CPP},
           {"cuda", HPC_LANGUAGE_CUDA},
           {"cuda-cpp", HPC_LANGUAGE_CUDA},
           {"hip", HPC_LANGUAGE_HIP},
           {"opencl", HPC_LANGUAGE_OPENCL},
           {"fortran", HPC_LANGUAGE_FORTRAN},
           {"f90", HPC_LANGUAGE_FORTRAN},
           {"fortran-modern", HPC_LANGUAGE_FORTRAN},
           {"fortran_fixed-form", HPC_LANGUAGE_FORTRAN},
           {"FortranFreeForm", HPC_LANGUAGE_FORTRAN},
           {"FortranFixedForm", HPC_LANGUAGE_FORTRAN}};

hpc_language lsp_language_of_id(const char *id)
{
    for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
        if (strcasecmp(id, ids[k].id) == 0) return ids[k].language;
    return HPC_LANGUAGE_NONE;
}

void lsp_settings_init(lsp_settings *out, const hpc_lsp_options *o)
{
    *out = (lsp_settings){.guard = o->guard,
                          .threads = o->engine.threads,
                          .tokens = o->completion_tokens,
                          .seconds = o->completion_seconds,
                          .prompt_seconds = o->prompt_seconds};
    for (int k = 0; k < HPC_LANGUAGE_N; k++) {
        out->completion[k] = out->pragma[k] = true;
        out->perf[k] = o->perf;
    }
    snprintf(out->model, sizeof out->model, "%s", o->engine.model ? o->engine.model : "");
}

/* ---- warnings ------------------------------------------------------------------------------- */

static bool was_reported(const hpc_buf *names, const char *name)
{
    for (size_t at = 0; at < names->n; at += strlen(names->data + at) + 1)
        if (strcmp(names->data + at, name) == 0) return true;
    return false;
}

static void report(lsp_server *s, const char *name, const char *expected)
{
    hpc_buf text = {0};
    if (was_reported(&s->reported, name)) return;
    hpc_buf_add(&s->reported, name, strlen(name) + 1);
    if (expected)
        hpc_buf_printf(&text, "hpccoder: setting \"%.100s\" is ignored: expected %s", name,
                       expected);
    else
        hpc_buf_printf(&text, "hpccoder: unknown setting \"%.100s\" is ignored", name);
    if (text.failed >= 0) lsp_message(s, "window/logMessage", 2, text.data);
    hpc_buf_release(&text);
}

/* ---- values --------------------------------------------------------------------------------- */

/* {"c": true, "*": false}: "*" stands for the languages that are not named. */
static bool set_languages(lsp_server *s, bool to[HPC_LANGUAGE_N], const setting *t,
                          const hpc_json *v)
{
    const hpc_json *value;
    bool on, valid = true;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t k = 0; k < hpc_json_n(v); k++) {
            const char *id = hpc_json_key(v, k, &value);
            const hpc_language l = lsp_language_of_id(id);
            const bool all = strcmp(id, "*") == 0;
            char name[120];
            if (hpc_json_kind_of(value) != HPC_JSON_BOOL) {
                valid = false;
                continue;
            }
            if (hpc_json_bool(&on, value, id) < 0) continue;
            snprintf(name, sizeof name, "%s.%.80s", t->name, id);
            if (!all && l == HPC_LANGUAGE_NONE) report(s, name, NULL);
            if (pass == 0)
                for (int i = 0; i < HPC_LANGUAGE_N && all; i++) to[i] = on;
            else if (l != HPC_LANGUAGE_NONE)
                to[l] = on;
        }
    }
    return valid;
}

static bool is_within(const setting *t, double x)
{
    return x >= t->least && x <= t->most;
}

static bool set_number(void *to, const setting *t, const hpc_json *v)
{
    double x;
    int64_t n;
    if (t->kind == INTEGER) {
        if (hpc_json_kind_of(v) != HPC_JSON_INT || hpc_json_int(&n, v, t->name) < 0) return false;
        if (!is_within(t, (double)n)) return false;
        *(int64_t *)to = n;
        return true;
    }
    if (hpc_json_kind_of(v) != HPC_JSON_INT && hpc_json_kind_of(v) != HPC_JSON_REAL) return false;
    if (hpc_json_real(&x, v, t->name) < 0 || !is_within(t, x)) return false;
    *(double *)to = x;
    return true;
}

static bool set(lsp_server *s, const setting *t, const hpc_json *v)
{
    void *to = (char *)&s->settings + t->offset;
    const char *text;
    bool on;
    const bool is_switch = hpc_json_kind_of(v) == HPC_JSON_BOOL;
    switch (t->kind) {
    case SWITCH: return is_switch && hpc_json_bool(to, v, t->name) >= 0;
    case SWITCHES:
        if (hpc_json_kind_of(v) == HPC_JSON_OBJECT) return set_languages(s, to, t, v);
        if (!is_switch || hpc_json_bool(&on, v, t->name) < 0) return false;
        for (int k = 0; k < HPC_LANGUAGE_N; k++) ((bool *)to)[k] = on;
        return true;
    case TEXT:
        if (hpc_json_kind_of(v) != HPC_JSON_TEXT || hpc_json_text(&text, v, t->name) < 0)
            return false;
        if (strlen(text) > (size_t)t->most) return false;
        strcpy(to, text);
        return true;
    default: return set_number(to, t, v);
    }
}

void lsp_configure(lsp_server *s, const hpc_json *given)
{
    const hpc_json *own = given ? hpc_json_get(given, "hpccoder") : NULL, *value;
    if (!own) own = given;
    if (hpc_json_kind_of(own) != HPC_JSON_OBJECT) return;
    for (int64_t k = 0; k < hpc_json_n(own); k++) {
        const char *name = hpc_json_key(own, k, &value);
        int i = 0;
        while (i < SETTINGS && strcmp(settings[i].name, name) != 0) i++;
        if (i == SETTINGS)
            report(s, name, NULL);
        else if (hpc_json_kind_of(value) != HPC_JSON_NULL && !set(s, &settings[i], value))
            report(s, name, settings[i].expected);
        hpc_error_clear();
    }
}

/* ---- workspace/configuration ---------------------------------------------------------------- */

void lsp_ask_configuration(lsp_server *s)
{
    hpc_buf out = {0};
    hpc_json_out w;
    if (!s->can.configuration) return;
    lsp_request_begin(&w, &out, "configuration", "workspace/configuration");
    hpc_json_open(&w, "params", '{');
    hpc_json_open(&w, "items", '[');
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "section", "hpccoder");
    hpc_json_close(&w, '}');
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    lsp_answer_end(s, &w);
}

void lsp_register_configuration(lsp_server *s)
{
    hpc_buf out = {0};
    hpc_json_out w;
    if (!s->can.register_configuration) return;
    lsp_request_begin(&w, &out, "register", "client/registerCapability");
    hpc_json_open(&w, "params", '{');
    hpc_json_open(&w, "registrations", '[');
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "id", "configuration");
    hpc_json_put_text(&w, "method", "workspace/didChangeConfiguration");
    hpc_json_open(&w, "registerOptions", '{');
    hpc_json_put_text(&w, "section", "hpccoder");
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    lsp_answer_end(s, &w);
}
