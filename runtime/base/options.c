/*
 * options.c: parsing of a command's arguments according to its table.
 *
 * Long options take "--name value" or "--name=value", flags also "--no-name"; short
 * options cluster ("-qv") and take "-n5" or "-n 5". Options and positional arguments
 * mix. The first "--" in argv ends the options, because no option takes "--" as a
 * separate value. Abbreviated names are errors, so that a new option cannot change the
 * meaning of a script. If an option occurs twice, the last value counts, except for
 * repeatable options.
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/priv.h"

typedef struct parser {
    void *out;
    const hpc_command *c;
    hpc_arena *a;
    int argc, at, rest;
    char **argv;
    bool *given; /* by option: a repeatable one's default goes when it is first given */
} parser;

enum { HELP = 1 };

static int store(parser *p, const hpc_option *o, const char *text)
{
    char where[96];
    bool *given = &p->given[hpc_options_n(p->c, o)];
    if (o->kind == HPC_TEXTS && !*given) {
        memset((char *)p->out + o->offset, 0, sizeof(hpc_texts));
    }
    *given = true;
    snprintf(where, sizeof where, "option --%s", o->name);
    return hpc_option_set_text(p->out, o, p->a, where, text);
}

static int fill_defaults(parser *p)
{
    char where[96];
    memset(p->out, 0, p->c->options_bytes);
    for (const hpc_option *o = p->c->options; o && o->name; o = hpc_option_next(o)) {
        if (!o->fallback) continue;
        snprintf(where, sizeof where, "default of --%s", o->name);
        int rc = hpc_option_set_text(p->out, o, p->a, where, o->fallback);
        if (rc < 0) return rc;
    }
    return 0;
}

static const hpc_option *find_letter(const hpc_command *c, char letter)
{
    for (const hpc_option *o = c->options; o && o->name; o = hpc_option_next(o)) {
        if (o->letter == letter) return o;
    }
    return NULL;
}

/* "-" alone is a file name and "-5" a number, unless 5 is an option. */
static bool looks_like_option(const parser *p, const char *arg)
{
    if (arg[0] != '-' || arg[1] == '\0') return false;
    bool number =
        isdigit((unsigned char)arg[1]) || (arg[1] == '.' && isdigit((unsigned char)arg[2]));
    return !number || find_letter(p->c, arg[1]) != NULL;
}

static int unknown_long(const parser *p, const char *name, size_t n)
{
    char wrote[64];
    snprintf(wrote, sizeof wrote, "%.*s", (int)(n < sizeof wrote ? n : sizeof wrote), name);
    const hpc_option *o = hpc_option_nearest(p->c, wrote);
    if (o) {
        return hpc_fail(HPC_E_ARG, "unknown option --%s, did you mean --%s?", wrote, o->name);
    }
    if (strncmp(wrote, "no-", 3) == 0) o = hpc_option_nearest(p->c, wrote + 3);
    if (o && o->kind == HPC_FLAG) {
        return hpc_fail(HPC_E_ARG, "unknown option --%s, did you mean --no-%s?", wrote, o->name);
    }
    return hpc_fail(HPC_E_ARG, "unknown option --%s, see --help", wrote);
}

static int unknown_letter(const parser *p, const char *cluster, const char *letter)
{
    const hpc_option *o = cluster[1] ? hpc_option_nearest(p->c, cluster) : NULL;
    if (o) return hpc_fail(HPC_E_ARG, "unknown option -%s, did you mean --%s?", cluster, o->name);
    if (p->c->flags && isalpha((unsigned char)*letter))
        return hpc_fail(HPC_E_ARG,
                        "unknown option -%.60s: compiler options come after --, as in hpccoder %s "
                        "... -- -%.60s",
                        cluster, p->c->name, cluster);
    if (cluster[1] && isgraph((unsigned char)*letter)) {
        return hpc_fail(HPC_E_ARG, "unknown option -%c in '-%.60s', see --help", *letter, cluster);
    }
    return hpc_fail(HPC_E_ARG, "unknown option -%.60s, see --help", cluster);
}

/* The value of an option, when it is an argument of its own. Something that looks
 * like an option is rather a forgotten value, except for a negative number. */
static int next_value(parser *p, const hpc_option *o, const char **value)
{
    const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
    char name[80];
    hpc_option_argument(name, sizeof name, o);
    if (!next) return hpc_fail(HPC_E_ARG, "option --%s needs a value: %s", o->name, name);
    bool number = o->kind == HPC_INT || o->kind == HPC_REAL;
    if (looks_like_option(p, next) && !(number && isdigit((unsigned char)next[1]))) {
        return hpc_fail(HPC_E_ARG,
                        "option --%s needs a value: %s; write --%s=%.60s if this is the value",
                        o->name, name, o->name, next);
    }
    *value = next;
    p->at++;
    return 0;
}

static int parse_set(parser *p, const hpc_option *set, const char *given)
{
    const char *text = given ? given + 1 : NULL;
    int rc = text ? 0 : next_value(p, set, &text);
    if (rc < 0) return rc;
    const char *equals = strchr(text, '=');
    if (!equals) return hpc_fail(HPC_E_ARG, "option --set %.60s: write KEY=VALUE", text);
    const hpc_option *o = hpc_option_find(p->c, text, (size_t)(equals - text));
    if (!o || o == set) return unknown_long(p, text, (size_t)(equals - text));
    return store(p, o, equals + 1);
}

static int parse_long(parser *p, const char *name)
{
    const char *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    bool no = false;
    const hpc_option *o = hpc_option_find(p->c, name, n);
    if (!o && n > 3 && strncmp(name, "no-", 3) == 0) {
        o = hpc_option_find(p->c, name + 3, n - 3);
        no = o && o->kind == HPC_FLAG;
        if (!no) o = NULL;
    }
    bool help = !o && n == 4 && strncmp(name, "help", 4) == 0;
    if (!o && !help) return unknown_long(p, name, n);
    if (p->c->configured && n == 3 && strncmp(name, "set", 3) == 0) return parse_set(p, o, equals);
    if (help || o->kind == HPC_FLAG) {
        if (equals) return hpc_fail(HPC_E_ARG, "option --%.*s takes no value", (int)n, name);
        return help ? HELP : store(p, o, no ? "false" : "true");
    }
    const char *value = equals ? equals + 1 : NULL;
    if (!value) {
        int rc = next_value(p, o, &value);
        if (rc < 0) return rc;
    }
    return store(p, o, value);
}

static int parse_cluster(parser *p, const char *cluster)
{
    for (const char *letter = cluster; *letter; letter++) {
        const hpc_option *o = find_letter(p->c, *letter);
        if (!o && *letter == 'h') return HELP;
        if (!o) return unknown_letter(p, cluster, letter);
        if (o->kind != HPC_FLAG) {
            const char *value = letter + 1;
            int rc = *value ? 0 : next_value(p, o, &value);
            return rc < 0 ? rc : store(p, o, value);
        }
        int rc = store(p, o, "true");
        if (rc < 0) return rc;
    }
    return 0;
}

static int parse_all(parser *p)
{
    bool ended = false;
    for (p->at = 1; p->at < p->argc; p->at++) {
        char *arg = p->argv[p->at];
        if (ended || !looks_like_option(p, arg)) {
            if (!*arg) return hpc_fail(HPC_E_ARG, "argument %d is empty, see --help", p->rest + 1);
            p->argv[p->rest++] = arg; /* never overtakes p->at */
        } else if (strcmp(arg, "--") == 0) {
            ended = true;
            if (p->c->flags) p->argv[p->rest++] = arg;
        } else {
            int rc = arg[1] == '-' ? parse_long(p, arg + 2) : parse_cluster(p, arg + 1);
            if (rc != 0) return rc;
        }
    }
    return 0;
}

/* Keys of a file, but for the options that were given. */
static int load_under(parser *p, const char *path)
{
    hpc_json *root = NULL;
    int rc = hpc_json_read(&root, path);
    if (rc < 0) return rc;
    rc = hpc_options_load_under(p->out, p->c, p->a, root, p->given);
    if (rc < 0) hpc_error_where("%s", path);
    hpc_json_free(root);
    return rc;
}

int hpc_options_parse(void *out, const hpc_command *c, hpc_arena *a, int argc, char **argv,
                      int *rest)
{
    parser p = {.out = out, .c = c, .a = a, .argc = argc, .argv = argv};
    *rest = 0;
    p.given = hpc_arena_alloc(a, (size_t)hpc_options_n(c, NULL) + 1, sizeof *p.given);
    if (!p.given) return HPC_E_NOMEM;
    int rc = fill_defaults(&p);
    if (rc == 0) rc = parse_all(&p);
    if (rc == 0 && c->configured) {
        char path[PATH_MAX] = "";
        if (p.rest == 0) rc = c->configured(path, out);
        if (rc == 0 && (p.rest > 0 || path[0])) rc = load_under(&p, p.rest > 0 ? argv[0] : path);
    }
    if (rc == 0) *rest = p.rest;
    return rc;
}
