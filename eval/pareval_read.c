/*
 * The tasks of a ParEval checkout, and the match of older outputs by signature.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "eval/pareval.h"

enum { LEAST_BITS = 5 };

const char *const hpc_pareval_models[] = {"serial", "omp", "mpi", "mpi+omp", "kokkos", NULL};
static const char *const other_models[] = {"cuda", "hip", NULL};

static bool is_in(const char *const *list, const char *name, size_t n)
{
    for (; *list; list++)
        if (strlen(*list) == n && strncmp(*list, name, n) == 0) return true;
    return false;
}

/* True if the list "a,b" has the name. */
static bool has_name(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && strncmp(at, name, n) == 0) return true;
    return false;
}

static int check_models(const char *models)
{
    for (const char *at = models; *at; at += strcspn(at, ","), at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (is_in(hpc_pareval_models, at, n)) continue;
        if (is_in(other_models, at, n))
            return hpc_fail(HPC_E_UNSUPPORTED,
                            "%.*s prompts are not built: the sandbox has no devices; choose from "
                            "serial, omp, mpi, mpi+omp, kokkos",
                            (int)n, at);
        return hpc_fail(HPC_E_ARG,
                        "unknown model of parallelism '%.*s'; known: serial, omp, mpi, mpi+omp, "
                        "kokkos",
                        (int)n, at);
    }
    return *models ? HPC_OK : hpc_fail(HPC_E_ARG, "no model of parallelism was chosen");
}

/* "(1<<24)" with a smaller exponent. */
static const char *shrunk(hpc_arena *a, const char *size, int64_t shrink)
{
    const char *at = strstr(size, "<<");
    int64_t bits = at ? strtoll(at + 2, NULL, 10) : 0;

    if (!at || shrink < 1) return hpc_arena_text(a, "%s", size);
    bits -= shrink;
    return hpc_arena_text(a, "(1<<%lld)", (long long)(bits < LEAST_BITS ? LEAST_BITS : bits));
}

static int put_task(hpc_pareval_tasks *out, const hpc_json *entry, const hpc_json *sizes,
                    const char *models, int64_t shrink)
{
    const char *type, *name, *model, *prompt, *size = "(1<<18)";
    hpc_arena *a = out->arena;
    int rc;

    TRY(hpc_json_text(&type, hpc_json_get(entry, "problem_type"), "problem_type"));
    TRY(hpc_json_text(&name, hpc_json_get(entry, "name"), "name"));
    TRY(hpc_json_text(&model, hpc_json_get(entry, "parallelism_model"), "parallelism_model"));
    TRY(hpc_json_text(&prompt, hpc_json_get(entry, "prompt"), "prompt"));
    if (!has_name(models, model)) return HPC_OK;
    if (strchr(name, '/') || strchr(type, '/') || strstr(name, ".."))
        TRY(hpc_fail(HPC_E_FORMAT, "the name '%s' of a problem is not a folder name", name));
    const hpc_json *own = hpc_json_get(hpc_json_get(sizes, name), model);
    if (own) TRY(hpc_json_text(&size, own, "problem size"));
    TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof(*out->item)));
    hpc_pareval_task *t = &out->item[out->n++];
    *t = (hpc_pareval_task){.type = hpc_arena_text(a, "%s", type),
                            .name = hpc_arena_text(a, "%s", name),
                            .model = hpc_arena_text(a, "%s", model),
                            .prompt = hpc_arena_text(a, "%s", prompt),
                            .size = shrunk(a, size, shrink)};
    if (!t->type || !t->name || !t->model || !t->prompt || !t->size) rc = HPC_E_NOMEM;
out:
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const hpc_pareval_task *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->model, y->model);
}

static int read_json(hpc_json **out, const char *checkout, const char *name)
{
    hpc_buf path = {0};
    int rc;

    TRY(hpc_buf_printf(&path, "%s/%s", checkout, name));
    TRY(hpc_json_read(out, path.data));
out:
    hpc_buf_release(&path);
    return rc < 0 ? hpc_error_where("%s is not a checkout of ParEval", checkout) : rc;
}

int hpc_pareval_read(hpc_pareval_tasks *out, const char *checkout, const char *models,
                     int64_t shrink)
{
    hpc_json *prompts = NULL, *sizes = NULL;
    int rc = HPC_OK;

    *out = (hpc_pareval_tasks){.arena = hpc_arena_create(0)};
    if (!out->arena) return HPC_E_NOMEM;
    TRY(check_models(models));
    TRY(read_json(&prompts, checkout, "prompts/generation-prompts.json"));
    TRY(read_json(&sizes, checkout, "drivers/problem-sizes.json"));
    for (int64_t k = 0; k < hpc_json_n(prompts); k++)
        TRY(put_task(out, hpc_json_at(prompts, k), sizes, models, shrink));
    if (out->n == 0) TRY(hpc_fail(HPC_E_FORMAT, "%s has no prompts for %s", checkout, models));
    qsort(out->item, (size_t)out->n, sizeof(*out->item), by_name);
out:
    hpc_json_free(prompts);
    hpc_json_free(sizes);
    return rc;
}

void hpc_pareval_release(hpc_pareval_tasks *t)
{
    hpc_free(t->item);
    hpc_arena_free(t->arena);
    *t = (hpc_pareval_tasks){0};
}

/* ---- signatures ------------------------------------------------------------------------------ */

static const char *last_line(const char *text, size_t *n)
{
    size_t end = strlen(text), at;

    while (end > 0 && isspace((unsigned char)text[end - 1])) end--;
    for (at = end; at > 0 && text[at - 1] != '\n';) at--;
    *n = end - at;
    return text + at;
}

/* Equal apart from white space. */
static bool same_signature(const char *a, const char *b)
{
    size_t a_n, b_n, i = 0, j = 0;

    a = last_line(a, &a_n), b = last_line(b, &b_n);
    for (;;) {
        while (i < a_n && isspace((unsigned char)a[i])) i++;
        while (j < b_n && isspace((unsigned char)b[j])) j++;
        if (i == a_n || j == b_n) return i == a_n && j == b_n;
        if (a[i++] != b[j++]) return false;
    }
}

int64_t hpc_pareval_match(const hpc_pareval_tasks *t, const char *prompt, const char *model)
{
    for (int64_t k = 0; k < t->n; k++)
        if (strcmp(t->item[k].model, model) == 0 && same_signature(t->item[k].prompt, prompt))
            return k;
    return -1;
}
