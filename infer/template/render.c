/*
 * render.c: runs statements, with Jinja's scopes: loops, macros and blocks have their own, `if`
 * has none.
 */
#include <string.h>

#include "infer/template/priv.h"

typedef enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE } flow;

static int execute(flow *f, tpl_run *x, tpl_scope *s, const tpl_node *n);

static int bind(tpl_run *x, tpl_scope *s, const char *name, tpl_value v)
{
    size_t passed = 0;
    for (tpl_binding *b = s->first; b; b = b->next, passed++)
        if (strcmp(b->name, name) == 0) return b->value = v, tpl_spend(x, passed / 16);
    tpl_binding *b = tpl_alloc(x, 1, sizeof *b);
    if (!b) return tpl_code();
    *b = (tpl_binding){.next = s->first, .name = name, .value = v};
    s->first = b;
    return tpl_spend(x, passed / 16);
}

static int open_scope(tpl_scope **out, tpl_run *x, tpl_scope *parent)
{
    tpl_scope *s = tpl_alloc(x, 1, sizeof *s);
    if (!s) return tpl_code();
    *s = (tpl_scope){.parent = parent};
    *out = s;
    return HPC_OK;
}

/* ---- assignment ----------------------------------------------------------------------------- */

static int assign_member(tpl_run *x, tpl_scope *s, const tpl_node *target, tpl_value v)
{
    tpl_value of, key;
    int rc;
    TRY(tpl_evaluate(&of, x, s, target->a));
    if (of.kind != TPL_NAMESPACE || target->kind != TPL_ATTRIBUTE)
        TRY(tpl_fail(x, HPC_E_ARG, "cannot assign attribute on non-namespace object"));
    TRY(tpl_of_name(&key, x, target->name));
    TRY(tpl_dict_put(x, of.dict, key, v));
out:
    return rc;
}

static int assign(tpl_run *x, tpl_scope *s, const tpl_node *target, tpl_value v)
{
    tpl_list *l;
    int rc;
    if (target->kind == TPL_NAME) return bind(x, s, target->name, v);
    if (target->kind != TPL_MAKE_TUPLE) return assign_member(x, s, target, v);
    TRY(tpl_iterate(&l, x, v));
    if (l->n != target->kid_n)
        TRY(tpl_fail(x, HPC_E_ARG, "%lld values for %lld names", (long long)l->n,
                     (long long)target->kid_n));
    for (int64_t k = 0; k < l->n; k++) TRY(assign(x, s, target->kid[k], l->item[k]));
out:
    return rc;
}

/* The text that a body renders. */
static int render_text(tpl_value *out, tpl_run *x, tpl_scope *parent, const tpl_node *body)
{
    hpc_template_output made = {0}, *outer = x->out;
    tpl_scope *s;
    flow f = FLOW_NEXT;
    int rc;
    x->out = &made;
    TRY(open_scope(&s, x, parent));
    TRY(execute(&f, x, s, body));
    x->out = outer;
    return tpl_take_text(out, x, &made);
out:
    x->out = outer;
    hpc_template_output_release(&made);
    return rc;
}

/* Filters of a block: the innermost has no operand. */
static int filter_text(tpl_value *v, tpl_run *x, tpl_scope *s, const tpl_node *filter)
{
    tpl_node copy, constant = {.kind = TPL_CONST, .line = x->line};
    int rc;
    if (!filter) return HPC_OK;
    TRY(tpl_enter(x));
    TRY(filter_text(v, x, s, filter->a));
    copy = *filter;
    constant.value = *v;
    copy.a = &constant;
    TRY(tpl_evaluate(v, x, s, &copy));
    x->depth--;
out:
    return rc;
}

/* ---- macros --------------------------------------------------------------------------------- */

static int check_names(tpl_run *x, const tpl_node *n, const tpl_args *args)
{
    int64_t by_position = 0;
    for (int64_t k = 0; k < args->n; k++) {
        bool known = false;
        if (!args->names || !args->names[k]) {
            by_position++;
            continue;
        }
        for (int64_t i = 0; i < n->kid_n; i++) known |= strcmp(n->names[i], args->names[k]) == 0;
        if (!known)
            return tpl_fail(x, HPC_E_ARG, "macro '%.80s' takes no keyword argument '%.80s'",
                            n->name, args->names[k]);
    }
    if (by_position <= n->kid_n) return HPC_OK;
    return tpl_fail(x, HPC_E_ARG, "macro '%.80s' takes not more than %lld arguments", n->name,
                    (long long)n->kid_n);
}

int tpl_call_macro(tpl_value *out, tpl_run *x, const tpl_macro *m, const tpl_args *args)
{
    const tpl_node *n = m->node;
    tpl_scope *s;
    int rc;
    TRY(tpl_enter(x));
    TRY(check_names(x, n, args));
    TRY(open_scope(&s, x, m->scope));
    for (int64_t k = 0; k < n->kid_n; k++) {
        const tpl_value *given = tpl_arg(args, k, n->names[k]);
        tpl_value v = tpl_undefined(x, "parameter '%.80s' was not provided", n->names[k]);
        if (given)
            v = *given;
        else if (n->kid[k])
            TRY(tpl_evaluate(&v, x, s, n->kid[k]));
        TRY(bind(x, s, n->names[k], v));
    }
    TRY(render_text(out, x, s, n->d));
    x->depth--;
out:
    return rc;
}

static int define(tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    tpl_macro *m = tpl_alloc(x, 1, sizeof *m);
    if (!m) return tpl_code();
    *m = (tpl_macro){.node = n, .scope = s};
    return bind(x, s, n->name, (tpl_value){.kind = TPL_MACRO, .macro = m});
}

/* ---- loops ---------------------------------------------------------------------------------- */

/* The elements for which the condition holds. */
static int choose(tpl_list **list, tpl_run *x, tpl_scope *parent, const tpl_node *n)
{
    tpl_list *chosen;
    tpl_scope *s;
    int rc;
    TRY(tpl_list_new(&chosen, x, TPL_IS_LIST));
    for (int64_t k = 0; k < (*list)->n; k++) {
        tpl_value is;
        TRY(open_scope(&s, x, parent));
        TRY(assign(x, s, n->b, (*list)->item[k]));
        TRY(tpl_evaluate(&is, x, s, n->c));
        if (tpl_truth(is)) TRY(tpl_list_add(x, chosen, (*list)->item[k]));
    }
    *list = chosen;
out:
    return rc;
}

static int run_for(tpl_run *x, tpl_scope *parent, const tpl_node *n)
{
    tpl_value v;
    tpl_list *list;
    tpl_scope *s;
    tpl_loop *loop = tpl_alloc(x, 1, sizeof *loop);
    flow f = FLOW_NEXT;
    int rc;
    if (!loop) return tpl_code();
    TRY(tpl_evaluate(&v, x, parent, n->a));
    TRY(tpl_iterate(&list, x, v));
    if (n->c) TRY(choose(&list, x, parent, n));
    *loop = (tpl_loop){.list = list, .depth = 1};
    for (int64_t k = 0; f != FLOW_BREAK && k < list->n; k++) {
        loop->at = k;
        TRY(open_scope(&s, x, parent));
        TRY(bind(x, s, "loop", (tpl_value){.kind = TPL_LOOP, .loop = loop}));
        TRY(assign(x, s, n->b, list->item[k]));
        f = FLOW_NEXT;
        TRY(execute(&f, x, s, n->d));
    }
    if (list->n == 0 && n->e) {
        f = FLOW_NEXT;
        TRY(open_scope(&s, x, parent));
        TRY(execute(&f, x, s, n->e));
    }
out:
    return rc;
}

/* ---- statements ----------------------------------------------------------------------------- */

static int print(tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    tpl_value v;
    int rc;
    TRY(tpl_evaluate(&v, x, s, n->a));
    TRY(tpl_put_str(x->out, x, v));
    if (v.kind == TPL_TEXT) TRY(tpl_spend(x, v.text->n / 64));
out:
    return rc;
}

static int run_if(flow *f, tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    tpl_value v;
    int rc = HPC_OK;
    for (; n && n->kind == TPL_IF; n = n->c) {
        TRY(tpl_evaluate(&v, x, s, n->a));
        if (tpl_truth(v)) return execute(f, x, s, n->b);
    }
    if (n) TRY(execute(f, x, s, n));
out:
    return rc;
}

static int run_with(flow *f, tpl_run *x, tpl_scope *parent, const tpl_node *n)
{
    tpl_scope *s;
    tpl_value v;
    int rc;
    TRY(open_scope(&s, x, parent));
    for (int64_t k = 0; k < n->kid_n; k++) {
        TRY(tpl_evaluate(&v, x, parent, n->kid[k]->a));
        TRY(assign(x, s, n->kid[k]->b, v));
    }
    TRY(execute(f, x, s, n->d));
out:
    return rc;
}

static int run_statement(flow *f, tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    tpl_value v;
    int rc = HPC_OK;
    switch (n->kind) {
    case TPL_PRINT: return print(x, s, n);
    case TPL_BODY:
        for (int64_t k = 0; *f == FLOW_NEXT && k < n->kid_n; k++) TRY(execute(f, x, s, n->kid[k]));
        return rc;
    case TPL_IF: return run_if(f, x, s, n);
    case TPL_FOR: return run_for(x, s, n);
    case TPL_DEFINE: return define(x, s, n);
    case TPL_WITH: return run_with(f, x, s, n);
    case TPL_SET: TRY(tpl_evaluate(&v, x, s, n->a)); return assign(x, s, n->b, v);
    case TPL_SET_BLOCK:
        TRY(render_text(&v, x, s, n->d));
        TRY(filter_text(&v, x, s, n->a));
        return assign(x, s, n->b, v);
    case TPL_FILTERED:
        TRY(render_text(&v, x, s, n->d));
        TRY(filter_text(&v, x, s, n->a));
        return tpl_put_str(x->out, x, v);
    case TPL_BREAK: *f = FLOW_BREAK; return rc;
    case TPL_CONTINUE: *f = FLOW_CONTINUE; return rc;
    default: return tpl_fail(x, HPC_E_STATE, "an expression is run");
    }
out:
    return rc;
}

static int execute(flow *f, tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    int rc;
    x->line = n->line;
    TRY(tpl_enter(x));
    TRY(run_statement(f, x, s, n));
    x->depth--;
out:
    return rc;
}

/* ---- the template --------------------------------------------------------------------------- */

static int bind_variables(tpl_run *x, tpl_scope *s)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < x->in->n; k++) {
        const hpc_template_variable *v = &x->in->variable[k];
        tpl_value value;
        TRY(tpl_from_json(&value, x, v->value, v->foreign));
        TRY(bind(x, s, v->name, value));
    }
out:
    return rc;
}

int hpc_template_render(hpc_template_output *out, const hpc_template *t,
                        const hpc_template_input *in)
{
    tpl_run x = {.in = in, .out = out};
    tpl_scope *variables, *s;
    flow f = FLOW_NEXT;
    int rc;
    if (!(x.arena = hpc_arena_create(0))) return tpl_code();
    TRY(open_scope(&variables, &x, NULL));
    TRY(bind_variables(&x, variables));
    TRY(open_scope(&s, &x, variables));
    TRY(execute(&f, &x, s, t->body));
out:
    hpc_arena_free(x.arena);
    return rc;
}
