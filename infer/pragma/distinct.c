/*
 * distinct.c: assumptions about the entries of an array, with C code that tests them. Indices have
 * no repeated entry: two passes find the range of the entries, and mark them in a bitmap. Lengths
 * do not exceed a number.
 */
#include "infer/pragma/memory.h"
#include "infer/pragma/spell.h"

/* The array as an expression before the loop; false: it has no name there, or elements have fields.
 */
static bool spell_array(spelling *x, const place *p)
{
    const walk *w = x->w;
    const atom *base = &w->prover->atoms[p->base];
    const bool content = p->n == 2 && p->step[0].field == STEP_CONTENT;
    if (p->n != 1 + content || p->step[content].field != STEP_INDEX) return false;
    if (base->kind != ATOM_OBJECT) {
        if (content) return false;
        spell_address(x, p->base, poly_number(w->prover, 0), false);
        return !x->failed;
    }
    if (!is_visible(w->loop, base->symbol)) return false;
    hpc_buf_text(&x->text, symbol_name(w->t, base->symbol));
    return true;
}

/* The least and the greatest index at which the loop reads the array; false: unknown. */
static bool find_range(const poly **lo, const poly **hi, walk *w, const place *p)
{
    *lo = *hi = NULL;
    for (int64_t i = 0; i < w->loop->n; i++) {
        const access *a = &w->loop->item[i];
        if (a->write || a->place.base != p->base || a->place.n != p->n) continue;
        const poly *index = a->place.step[p->n - 1].index,
                   *x = poly_extreme(w->prover, index, false, a->facts),
                   *y = poly_extreme(w->prover, index, true, a->facts);
        if (!x || !y || (*lo && (!poly_equal(*lo, x) || !poly_equal(*hi, y)))) return false;
        *lo = x;
        *hi = y;
    }
    return *lo && *hi;
}

static const char *name_of(const walk *w, const place *p)
{
    const atom *base = &w->prover->atoms[p->base];
    return base->kind == ATOM_OBJECT || base->kind == ATOM_SYMBOL ? symbol_name(w->t, base->symbol)
                                                                  : "entries";
}

static const char *code_text(walk *w, const char *name, const char *array, const char *lo,
                             const char *hi)
{
    return hpc_arena_text(
        w->loop->p->out,
        "int %s_distinct = 1;\n"
        "if (%s <= %s) {\n"
        "    const long long first = %s, last = %s;\n"
        "    long long least = %s[first], most = %s[first];\n"
        "    for (long long k = first; k <= last; k++) {\n"
        "        if (%s[k] < least) least = %s[k];\n"
        "        if (%s[k] > most) most = %s[k];\n"
        "    }\n"
        "    unsigned char *seen = most - least < 64 * (last - first + 1)\n"
        "        ? (unsigned char *)calloc((size_t)(most - least) / 8 + 1, 1) : NULL;\n"
        "    if (!seen) %s_distinct = 0;\n"
        "    for (long long k = first; k <= last && %s_distinct; k++) {\n"
        "        const size_t at = (size_t)(%s[k] - least);\n"
        "        %s_distinct = !(seen[at / 8] >> at %% 8 & 1);\n"
        "        seen[at / 8] |= (unsigned char)(1 << at %% 8);\n"
        "    }\n"
        "    free(seen);\n"
        "}\n",
        name, lo, hi, lo, hi, array, array, array, array, array, array, name, name, array, name);
}

/* The test of an array with a name before the loop and a known range of indices; NULL: none. */
static const char *distinct_code(walk *w, const place *p)
{
    spelling array = {.w = w}, low = {.w = w, .wide = true}, high = {.w = w, .wide = true};
    const poly *lo, *hi;
    const char *code = NULL;
    const char *name = name_of(w, p);
    if (spell_array(&array, p) && find_range(&lo, &hi, w, p)) {
        spell_number(&low, lo);
        spell_number(&high, hi);
        const char *a = spelled(&array), *l = spelled(&low), *h = spelled(&high);
        if (a && l && h) code = code_text(w, name, a, l, h);
    }
    hpc_buf_release(&array.text);
    hpc_buf_release(&low.text);
    hpc_buf_release(&high.text);
    return code;
}

/* The text of the file lists the entries, so there is nothing to assume. */
static bool is_listed(const walk *w, const place *p)
{
    const atom *base = &w->prover->atoms[p->base];
    if (base->kind != ATOM_OBJECT || base->symbol < 0) return false;
    int32_t node = w->t->symbol[base->symbol].node,
            first = node >= 0 && w->t->node[node].kind == HPC_TREE_VARIABLE
                        ? hpc_tree_first(w->t, node)
                        : 0;
    return first && w->t->node[first].kind == HPC_TREE_LIST;
}

bool assume_distinct(walk *w, const access *a, const access *b)
{
    prover *pr = w->prover;
    if (a->update || b->update || !apart_if_distinct(w->loop, pr, a, b)) return false;
    for (int32_t i = 0; i < pr->distinct_n; i++)
        if (is_listed(w, pr->distinct_of[i])) return false;
    for (int32_t i = 0; i < pr->distinct_n; i++) {
        hpc_buf text = {0}, one = {0};
        array_text(&one, w, pr->distinct_of[i]);
        if (one.data) hpc_buf_printf(&text, "%s has no repeated entry", one.data);
        if (text.data && !text.failed)
            answer_assume_form(w->answer, &(premise){.text = text.data,
                                                     .code = distinct_code(w, pr->distinct_of[i]),
                                                     .form = ASSUME_DISTINCT,
                                                     .one = one.data,
                                                     .limited = true});
        hpc_buf_release(&text);
        hpc_buf_release(&one);
    }
    return true;
}

/* ---- lengths ---- */

/* The test of an array with a name before the loop and a known range of indices; NULL: none. */
static const char *limit_code(walk *w, const place *p, const poly *most)
{
    spelling array = {.w = w}, low = {.w = w, .wide = true}, high = {.w = w, .wide = true},
             limit = {.w = w, .wide = true};
    const poly *lo, *hi;
    const char *code = NULL, *name = name_of(w, p);
    if (spell_array(&array, p) && find_range(&lo, &hi, w, p)) {
        spell_number(&low, lo);
        spell_number(&high, hi);
        spell_number(&limit, most);
        const char *a = spelled(&array), *l = spelled(&low), *h = spelled(&high),
                   *m = spelled(&limit);
        if (a && l && h && m)
            code = hpc_arena_text(w->loop->p->out,
                                  "int %s_fit = 1;\n"
                                  "for (long long k = %s; k <= %s; k++) %s_fit &= %s[k] <= %s;\n",
                                  name, l, h, name, a, m);
    }
    hpc_buf_release(&array.text);
    hpc_buf_release(&low.text);
    hpc_buf_release(&high.text);
    hpc_buf_release(&limit.text);
    return code;
}

bool assume_limited(walk *w, const access *a, const access *b)
{
    prover *pr = w->prover;
    if (!apart_if_limited(w->loop, pr, a, b)) return false;
    for (int32_t i = 0; i < pr->limits_n; i++)
        if (is_listed(w, pr->limit[i].of)) return false;
    for (int32_t i = 0; i < pr->limits_n; i++) {
        hpc_buf text = {0};
        hpc_buf_text(&text, "no entry of ");
        array_text(&text, w, pr->limit[i].of);
        hpc_buf_text(&text, " exceeds ");
        poly_text(&text, pr, w->loop->p, pr->limit[i].most);
        const char *code = limit_code(w, pr->limit[i].of, pr->limit[i].most);
        if (text.data && !text.failed)
            answer_assume_form(w->answer,
                               &(premise){.text = text.data, .code = code, .limited = true});
        hpc_buf_release(&text);
    }
    return true;
}
