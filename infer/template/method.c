/*
 * method.c: methods of Python's str. Upper and lower case are of ASCII; other letters are
 * rejected.
 */
#include <stdio.h>
#include <string.h>

#include "infer/template/priv.h"

typedef struct call { /* of a method of t */
    tpl_run *x;
    const tpl_text *t;
    const char *name;
    const tpl_args *args;
} call;

static int fail_argument(const call *c)
{
    return tpl_fail(c->x, HPC_E_ARG, "%s(): bad arguments", c->name);
}

/* The argument k as a text. NULL: it is absent or None. */
static int text_at(const tpl_text **out, const call *c, int64_t k)
{
    const tpl_value *v = tpl_arg(c->args, k, "");
    *out = NULL;
    if (!v || v->kind == TPL_NONE) return HPC_OK;
    if (v->kind != TPL_TEXT) return fail_argument(c);
    *out = v->text;
    return HPC_OK;
}

/* Where `what` begins in t[from..]; t->n + 1: nowhere. */
static size_t find(const tpl_text *t, const tpl_text *what, size_t from)
{
    if (what->n == 0) return from;
    const char *at = from < t->n ? memmem(t->data + from, t->n - from, what->data, what->n) : NULL;
    return at ? (size_t)(at - t->data) : t->n + 1;
}

static int strip(tpl_value *out, const call *c, int sides)
{
    const tpl_text *of;
    size_t from, to;
    int rc;
    TRY(text_at(&of, c, 0));
    if (of) TRY(tpl_spend(c->x, of->n * (c->t->n / 64 + 1)));
    tpl_trim(&from, &to, c->t, of, sides);
    TRY(tpl_part(out, c->x, c->t, from, to));
out:
    return rc;
}

/* ---- case ----------------------------------------------------------------------------------- */

static int change_case(tpl_value *out, const call *c, bool first_up, bool rest_up, bool words)
{
    hpc_template_output made = {0};
    bool first = true;
    int rc = HPC_OK;
    for (size_t k = 0; k < c->t->n; k++) {
        char one = c->t->data[k];
        const bool lower = one >= 'a' && one <= 'z', upper = one >= 'A' && one <= 'Z';
        const bool up = first ? first_up : rest_up;
        if ((uint8_t)one >= 0x80)
            TRY(tpl_fail(c->x, HPC_E_UNSUPPORTED, "%s() of text beyond ASCII", c->name));
        if ((lower && up) || (upper && !up)) one ^= 0x20;
        TRY(tpl_put(&made, &one, 1, c->t->mask ? c->t->mask[k] : c->t->foreign));
        first = words && !lower && !upper;
    }
    return tpl_take_text(out, c->x, &made);
out:
    hpc_template_output_release(&made);
    return rc;
}

/* ---- parts ---------------------------------------------------------------------------------- */

static int add_part(const call *c, tpl_list *l, size_t from, size_t to)
{
    tpl_value part;
    int rc;
    TRY(tpl_part(&part, c->x, c->t, from, to));
    TRY(tpl_list_add(c->x, l, part));
out:
    return rc;
}

static int split_blanks(tpl_list *l, const call *c, int64_t most)
{
    const tpl_text *t = c->t;
    size_t from = 0, end, k;
    uint32_t code;
    int rc = HPC_OK;
    for (; most != 0; most--) {
        while (from < t->n && (k = tpl_next(&code, t->data, t->n, from)) > 0 && tpl_is_space(code))
            from += k;
        for (end = from; end < t->n; end += k)
            if ((k = tpl_next(&code, t->data, t->n, end)) == 0 || tpl_is_space(code)) break;
        if (from >= t->n) return rc;
        TRY(add_part(c, l, from, end));
        from = end;
    }
    while (from < t->n && (k = tpl_next(&code, t->data, t->n, from)) > 0 && tpl_is_space(code))
        from += k;
    if (from < t->n) TRY(add_part(c, l, from, t->n));
out:
    return rc;
}

static int split(tpl_value *out, const call *c)
{
    const tpl_value *limit = tpl_arg(c->args, 1, "maxsplit");
    const tpl_text *by;
    tpl_list *l;
    int64_t most = -1;
    int rc;
    TRY(text_at(&by, c, 0));
    if (limit && !tpl_whole(&most, *limit)) TRY(fail_argument(c));
    TRY(tpl_list_new(&l, c->x, TPL_IS_LIST));
    *out = tpl_of_list(l);
    if (!by) return split_blanks(l, c, most);
    if (by->n == 0) TRY(tpl_fail(c->x, HPC_E_ARG, "empty separator"));
    for (size_t from = 0;; most--) {
        const size_t at = most == 0 ? c->t->n + 1 : find(c->t, by, from);
        if (at > c->t->n) return add_part(c, l, from, c->t->n);
        TRY(add_part(c, l, from, at));
        from = at + by->n;
    }
out:
    return rc;
}

/* From the right: the parts come in the same order. */
static int rsplit(tpl_value *out, const call *c)
{
    const tpl_value *limit = tpl_arg(c->args, 1, "maxsplit");
    const tpl_text *by;
    tpl_list *l;
    int64_t most = -1, n = 0;
    int rc;
    TRY(text_at(&by, c, 0));
    if (limit && !tpl_whole(&most, *limit)) TRY(fail_argument(c));
    if (most < 0) return split(out, c);
    if (!by || by->n != 1) TRY(tpl_fail(c->x, HPC_E_UNSUPPORTED, "rsplit() with these arguments"));
    TRY(tpl_list_new(&l, c->x, TPL_IS_LIST));
    for (size_t at = 0; at < c->t->n; at++) n += c->t->data[at] == by->data[0];
    size_t from = 0;
    for (size_t at = 0; at < c->t->n; at++) {
        if (c->t->data[at] != by->data[0] || n-- > most) continue;
        TRY(add_part(c, l, from, at));
        from = at + 1;
    }
    TRY(add_part(c, l, from, c->t->n));
    *out = tpl_of_list(l);
out:
    return rc;
}

static int splitlines(tpl_value *out, const call *c)
{
    const tpl_text *t = c->t;
    tpl_list *l;
    int rc;
    if (c->args->n > 0) return tpl_fail(c->x, HPC_E_UNSUPPORTED, "splitlines() with arguments");
    for (size_t k = 0; k < t->n; k++)
        if (t->data[k] != '\n' && t->data[k] != '\t' && (uint8_t)t->data[k] < ' ')
            return tpl_fail(c->x, HPC_E_UNSUPPORTED, "splitlines() with other line ends than LF");
    TRY(tpl_list_new(&l, c->x, TPL_IS_LIST));
    for (size_t at = 0, end; at < t->n; at = end + 1) {
        const char *lf = memchr(t->data + at, '\n', t->n - at);
        end = lf ? (size_t)(lf - t->data) : t->n;
        TRY(add_part(c, l, at, end));
    }
    *out = tpl_of_list(l);
out:
    return rc;
}

/* ---- search and replacement ----------------------------------------------------------------- */

static bool matches(const tpl_text *t, const tpl_text *what, bool end)
{
    return what->n <= t->n &&
           (what->n == 0 || memcmp(t->data + (end ? t->n - what->n : 0), what->data, what->n) == 0);
}

/* startswith, endswith: of a string, or of one of a tuple */
static int begins(tpl_value *out, const call *c, bool end)
{
    const tpl_value *v = tpl_arg(c->args, 0, "");
    bool is = false;
    if (!v || c->args->n > 1) return fail_argument(c);
    if (v->kind == TPL_LIST && v->list->kind == TPL_IS_TUPLE) {
        for (int64_t k = 0; k < v->list->n; k++) {
            if (v->list->item[k].kind != TPL_TEXT) return fail_argument(c);
            is |= matches(c->t, v->list->item[k].text, end);
        }
    } else if (v->kind == TPL_TEXT) {
        is = matches(c->t, v->text, end);
    } else {
        return fail_argument(c);
    }
    *out = tpl_of_bool(is);
    return HPC_OK;
}

static int replace(tpl_value *out, const call *c)
{
    const tpl_value *limit = tpl_arg(c->args, 2, "count");
    const tpl_text *from, *to;
    hpc_template_output made = {0};
    int64_t most = -1;
    size_t at = 0;
    int rc;
    TRY(text_at(&from, c, 0));
    TRY(text_at(&to, c, 1));
    if (!from || !to) TRY(fail_argument(c));
    if (limit && limit->kind != TPL_NONE && !tpl_whole(&most, *limit)) TRY(fail_argument(c));
    if (from->n == 0) TRY(tpl_fail(c->x, HPC_E_UNSUPPORTED, "replace() of an empty text"));
    for (size_t next; most != 0 && (next = find(c->t, from, at)) <= c->t->n; most--) {
        TRY(tpl_put_part(&made, c->t, at, next));
        TRY(tpl_put_part(&made, to, 0, to->n));
        TRY(tpl_spend(c->x, 1));
        at = next + from->n;
    }
    TRY(tpl_put_part(&made, c->t, at, c->t->n));
    return tpl_take_text(out, c->x, &made);
out:
    hpc_template_output_release(&made);
    return rc;
}

static int64_t character_at(const tpl_text *t, size_t offset)
{
    const tpl_text head = {.data = t->data, .n = offset};
    return tpl_characters(&head);
}

/* find, rfind, index, count */
static int search(tpl_value *out, const call *c)
{
    const tpl_text *what;
    size_t found = c->t->n + 1;
    int64_t n = 0;
    int rc;
    TRY(text_at(&what, c, 0));
    if (!what) TRY(fail_argument(c));
    if (c->args->n > 1 || what->n == 0)
        TRY(tpl_fail(c->x, HPC_E_UNSUPPORTED, "%s() with these arguments", c->name));
    const bool last = c->name[0] == 'r', counts = c->name[0] == 'c';
    for (size_t at = 0; (at = find(c->t, what, at)) <= c->t->n; at += last ? 1 : what->n, n++) {
        found = at;
        TRY(tpl_spend(c->x, 1 + what->n / 64));
        if (!last && !counts) break;
    }
    if (counts) return *out = tpl_of_int(n), rc;
    if (found > c->t->n && strcmp(c->name, "index") == 0)
        TRY(tpl_fail(c->x, HPC_E_ARG, "substring not found"));
    *out = tpl_of_int(found > c->t->n ? -1 : character_at(c->t, found));
out:
    return rc;
}

static int remove_affix(tpl_value *out, const call *c, bool end)
{
    const tpl_text *what;
    int rc;
    TRY(text_at(&what, c, 0));
    if (!what) TRY(fail_argument(c));
    const size_t n = matches(c->t, what, end) ? what->n : 0;
    TRY(tpl_part(out, c->x, c->t, end ? 0 : n, end ? c->t->n - n : c->t->n));
out:
    return rc;
}

static int join(tpl_value *out, const call *c)
{
    hpc_template_output made = {0};
    tpl_list *l;
    int rc;
    if (c->args->n != 1) return fail_argument(c);
    TRY(tpl_iterate(&l, c->x, c->args->item[0]));
    TRY(tpl_spend(c->x, (size_t)l->n));
    for (int64_t k = 0; k < l->n; k++) {
        if (l->item[k].kind != TPL_TEXT) TRY(fail_argument(c));
        if (k > 0) TRY(tpl_put_part(&made, c->t, 0, c->t->n));
        TRY(tpl_put_part(&made, l->item[k].text, 0, l->item[k].text->n));
    }
    return tpl_take_text(out, c->x, &made);
out:
    hpc_template_output_release(&made);
    return rc;
}

/* The value of a replacement field {}, {0} or {name}. */
static int take_field(const tpl_value **out, const call *c, const char *field, size_t n,
                      int64_t *next)
{
    char name[64];
    if (n >= sizeof name) return tpl_fail(c->x, HPC_E_UNSUPPORTED, "this format");
    memcpy(name, field, n);
    name[n] = '\0';
    if (name[strcspn(name, ":!.[{")] != '\0')
        return tpl_fail(c->x, HPC_E_UNSUPPORTED, "the format '{%s}'", name);
    const bool number = n > 0 && name[strspn(name, "0123456789")] == '\0';
    int64_t k = 0;
    for (size_t i = 0; number && i < n && k < 1000; i++) k = 10 * k + (name[i] - '0');
    *out = n == 0   ? tpl_arg(c->args, (*next)++, "")
           : number ? tpl_arg(c->args, k, "")
                    : tpl_arg(c->args, c->args->n, name);
    if (*out) return HPC_OK;
    return tpl_fail(c->x, HPC_E_ARG, "format(): no argument for '{%s}'", name);
}

static int format(tpl_value *out, const call *c)
{
    hpc_template_output made = {0};
    const tpl_text *t = c->t;
    const tpl_value *v = NULL;
    int64_t next = 0;
    int rc = HPC_OK;
    for (size_t at = 0; at < t->n; at++) {
        const char one = t->data[at];
        if ((one == '{' || one == '}') && at + 1 < t->n && t->data[at + 1] == one) {
            TRY(tpl_put_part(&made, t, at, at + 1));
            at++;
        } else if (one == '{') {
            const char *end = memchr(t->data + at, '}', t->n - at);
            if (!end) TRY(tpl_fail(c->x, HPC_E_ARG, "expected '}' before end of string"));
            const size_t n = (size_t)(end - t->data) - at - 1;
            TRY(take_field(&v, c, t->data + at + 1, n, &next));
            TRY(tpl_put_str(&made, c->x, *v));
            at += n + 1;
        } else {
            TRY(tpl_put_part(&made, t, at, at + 1));
        }
    }
    return tpl_take_text(out, c->x, &made);
out:
    hpc_template_output_release(&made);
    return rc;
}

static int is_digit(tpl_value *out, const call *c)
{
    bool is = c->t->n > 0;
    for (size_t k = 0; k < c->t->n; k++) {
        if ((uint8_t)c->t->data[k] >= 0x80)
            return tpl_fail(c->x, HPC_E_UNSUPPORTED, "isdigit() of text beyond ASCII");
        is &= c->t->data[k] >= '0' && c->t->data[k] <= '9';
    }
    *out = tpl_of_bool(is);
    return HPC_OK;
}

/* ---- all of them ---------------------------------------------------------------------------- */

int tpl_text_method(tpl_value *out, tpl_run *x, const tpl_text *t, const char *name,
                    const tpl_args *args)
{
    const call c = {.x = x, .t = t, .name = name, .args = args};
    int rc = tpl_spend(x, 1 + t->n / 64);
    if (rc < 0) return rc;
    if (t->markup) return tpl_fail(x, HPC_E_UNSUPPORTED, "a method of the result of 'safe'");
    if (strcmp(name, "strip") == 0) return strip(out, &c, 3);
    if (strcmp(name, "lstrip") == 0) return strip(out, &c, 1);
    if (strcmp(name, "rstrip") == 0) return strip(out, &c, 2);
    if (strcmp(name, "upper") == 0) return change_case(out, &c, true, true, false);
    if (strcmp(name, "lower") == 0) return change_case(out, &c, false, false, false);
    if (strcmp(name, "capitalize") == 0) return change_case(out, &c, true, false, false);
    if (strcmp(name, "title") == 0) return change_case(out, &c, true, false, true);
    if (strcmp(name, "split") == 0) return split(out, &c);
    if (strcmp(name, "rsplit") == 0) return rsplit(out, &c);
    if (strcmp(name, "splitlines") == 0) return splitlines(out, &c);
    if (strcmp(name, "startswith") == 0) return begins(out, &c, false);
    if (strcmp(name, "endswith") == 0) return begins(out, &c, true);
    if (strcmp(name, "replace") == 0) return replace(out, &c);
    if (strcmp(name, "removeprefix") == 0) return remove_affix(out, &c, false);
    if (strcmp(name, "removesuffix") == 0) return remove_affix(out, &c, true);
    if (strcmp(name, "join") == 0) return join(out, &c);
    if (strcmp(name, "format") == 0) return format(out, &c);
    if (strcmp(name, "isdigit") == 0) return is_digit(out, &c);
    if (strcmp(name, "find") == 0 || strcmp(name, "rfind") == 0 || strcmp(name, "index") == 0 ||
        strcmp(name, "count") == 0)
        return search(out, &c);
    return tpl_fail(x, HPC_E_UNSUPPORTED, "the string method '%.80s'", name);
}
