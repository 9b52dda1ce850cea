/*
 * call.c: evaluation of calls: their accesses through arguments and objects, and calls that prevent
 * parallel execution.
 */
#include <string.h>

#include "infer/pragma/container.h"
#include "infer/pragma/inline.h"
#include "infer/pragma/open.h"

static const char *name_of_call(const walk *w, int32_t call)
{
    int32_t v = w->t->node[call].symbol;
    return v >= 0 ? symbol_name(w->t, v) : node_text(w->loop->p, hpc_tree_first(w->t, call));
}

/* The function may assign the variable or element that is bound to its parameter, or leave it. */
static void write_reference(walk *w, int32_t arg)
{
    const hpc_tree_node *n = &w->t->node[arg];
    const int32_t k = n->kind == HPC_TREE_NAME ? slot_index(w->loop, n->symbol) : -1;
    place p;
    if (k >= 0 && !w->now[k].refers) {
        slot_read(w, k, arg);
        slot_write(w, k, arg, NULL);
        return;
    }
    place_of(&p, w, arg);
    if (p.base < 0) access_everything(w, arg);
    access_add(w, &p, arg, false, 0);
    access_add(w, &p, arg, true, 0);
}

/* Records a read or write of the object that an argument points to; `one`: of one element only. */
static void access_pointee(walk *w, int32_t arg, const poly *v, bool write, bool one)
{
    const hpc_tree *t = w->t;
    place p;
    int32_t type = t->node[arg].type;
    uint8_t kind = kind_of(t, bare_type(t, type));
    if (t->node[arg].flags & HPC_TREE_BY_REFERENCE) {
        place_of(&p, w, arg);
    } else if (kind == HPC_TYPE_POINTER || kind == HPC_TYPE_ARRAY) {
        type = bare_type(t, type);
        place_behind(&p, w, v, t->type[type].to);
        if (!one && p.base >= 0 && p.n > 0 && p.step[p.n - 1].field == STEP_INDEX)
            p.step[p.n - 1].index = NULL;
    } else {
        if (write) write_reference(w, arg);
        return;
    }
    if (p.base < 0 && write) access_everything(w, arg);
    access_add(w, &p, arg, write, 0);
}

static void arguments(walk *w, int32_t call, const effect *f)
{
    const hpc_tree *t = w->t;
    int32_t c = inline_arguments(t, call);
    for (int k = 0; c; k++, c = hpc_tree_next(t, c)) {
        uint8_t what = k < EFFECT_ARGUMENTS ? f->arg[k] : ARG_NONE;
        bool bound = t->node[c].flags & HPC_TREE_BY_REFERENCE;
        place p;
        const poly *v = NULL;
        if (bound)
            place_of(&p, w, c);
        else
            v = value_of(w, c);
        if (what & ARG_READ) access_pointee(w, c, v, false, what & ARG_ONE);
        if (what & ARG_WRITE) access_pointee(w, c, v, true, what & ARG_ONE);
    }
}

/* What a method does to its object, which may be anywhere in it. */
static void touch_object(walk *w, int32_t call, uint8_t what)
{
    place p;
    if (!(what & (ARG_READ | ARG_WRITE))) return;
    if (!inline_object(&p, w, call)) {
        access_everything(w, call);
        return;
    }
    if (what & ARG_READ) access_add(w, &p, call, false, 0);
    if (what & ARG_WRITE) access_add(w, &p, call, true, 0);
}

/* The operator that the compiler writes by itself: member by member. */
static bool is_plain_assignment(const walk *w, int32_t call)
{
    int32_t v = w->t->node[call].symbol;
    return v >= 0 && (w->t->node[call].flags & HPC_TREE_OPERATOR) && w->t->symbol[v].node < 0 &&
           (w->t->symbol[v].flags & HPC_SYMBOL_IN_FILE) &&
           strcmp(symbol_name(w->t, v), "operator=") == 0;
}

static const poly *assign_object(walk *w, int32_t call)
{
    int32_t from = hpc_tree_child(w->t, call, 2);
    if (from) value_of(w, from);
    touch_object(w, call, ARG_WRITE);
    return NULL;
}

/* Records a read of any part of a global variable. */
static void read_whole(walk *w, int32_t v, int32_t call)
{
    int32_t k = slot_index(w->loop, v), type = bare_type(w->t, w->t->symbol[v].type);
    place p = {.base = atom_object(w->prover, v), .type = type};
    if (k >= 0) {
        slot_read(w, k, call);
        return;
    }
    while (kind_of(w->t, p.type) == HPC_TYPE_ARRAY && p.n < PLACE_STEPS) {
        p.step[p.n++] = (place_step){.field = STEP_INDEX};
        p.type = w->t->type[p.type].to;
    }
    access_add(w, &p, call, false, 0);
}

/* An assertion states what its author expects. Where it does not hold, the program ends. */
static const poly *assume_assertion(walk *w)
{
    if (!w->answer->muted) answer_assume(w->answer, "the assertions of the loop hold", NULL);
    return NULL;
}

static void note_hidden(walk *w, int32_t call)
{
    loop_facts *l = w->loop;
    if (w->answer->muted) return;
    for (int32_t k = 0; k < l->hidden_n && k < HIDDEN_MOST; k++)
        if (w->t->node[l->hidden[k]].symbol == w->t->node[call].symbol) return;
    if (l->hidden_n < HIDDEN_MOST) l->hidden[l->hidden_n] = call;
    if (l->hidden_n <= HIDDEN_MOST) l->hidden_n++;
}

static const poly *call_of_file(walk *w, int32_t call)
{
    int32_t v = w->t->node[call].symbol;
    place p;
    static const effect plain = {.state = 2};
    const effect *f = v >= 0 ? effect_of(w->loop->p, v) : NULL;
    w->loop->cost.operations += 20;
    if (!f) {
        if (open_element(&p, w, call)) return load_from(w, &p, call);
        if (open_call(w, call)) return NULL;
        arguments(w, call, &plain);
        answer_unknown(w->answer, "call", call, "the target of the call %s is unknown",
                       node_text(w->loop->p, call));
        return NULL;
    }
    arguments(w, call, f);
    touch_object(w, call, f->object);
    for (int k = 0; k < f->globals_n; k++) read_whole(w, f->global[k], call);
    if (f->asserts) assume_assertion(w);
    if (f->hidden) note_hidden(w, call);
    if (f->kind == EFFECT_BAD)
        answer_unsafe(w->answer, "call", call, f->line ? "%s %s (line %u)" : "%s %s",
                      symbol_name(w->t, v), f->why, f->line);
    else if (f->kind == EFFECT_UNKNOWN)
        answer_unknown(w->answer, "call", call,
                       w->t->symbol[v].why && f->line ? "%s %s (line %u)" : "%s %s",
                       symbol_name(w->t, v), f->why, f->line);
    else
        answer_note(w->answer, "call", call, "%s %s", symbol_name(w->t, v),
                    f->kind == EFFECT_NONE ? "depends only on its arguments"
                    : f->hidden            ? "changes nothing that lasts"
                                           : "accesses only memory that its arguments point to");
    return NULL;
}

/* What a call gives by value: std::conj(z), a * b. */
static bool is_temporary(const hpc_tree *t, int32_t e)
{
    int32_t v = t->node[e].symbol;
    if (t->node[e].kind != HPC_TREE_CALL || v < 0) return false;
    const char *name = t->name + t->symbol[v].name;
    return call_known_at(t, e) == CALL_VALUE && strcmp(name, "move") != 0 &&
           strcmp(name, "forward") != 0;
}

/* size(), at(i) and their like of a container. */
static const poly *call_method(walk *w, int32_t call, call_known is)
{
    const hpc_tree *t = w->t;
    const int32_t object = object_of_call(t, call);
    const char *name = symbol_name(t, t->node[call].symbol);
    place p;
    if (!object) return NULL;
    if (is == CALL_METHOD_CHANGE || is == CALL_METHOD_OWN) {
        int32_t first = inline_arguments(t, call);
        if (is == CALL_METHOD_OWN && !first && is_temporary(t, object)) {
            value_of(w, object);
            return NULL;
        }
        for (int32_t c = first; c; c = hpc_tree_next(t, c)) value_of(w, c);
        touch_object(w, call, is == CALL_METHOD_OWN && !first ? ARG_READ : ARG_READ | ARG_WRITE);
        return NULL;
    }
    if (is == CALL_METHOD_READ && is_container_call(w, call)) {
        const poly *size = container_size(w, call);
        return strcmp(name, "empty") == 0 ? NULL : size;
    }
    const poly *pointer = is == CALL_METHOD_PLACE ? container_pointer(w, call) : NULL;
    if (pointer) return pointer;
    if (place_of_call(&p, w, call) && p.base >= 0) return load_from(w, &p, call);
    answer_unknown(w->answer, "call", call, "the result of %s is not analysed", name);
    return NULL;
}

static const poly *call_library(walk *w, int32_t call, call_known is)
{
    effect f = {.state = 2};
    const char *name = name_of_call(w, call);
    if (is == CALL_ASSERTS) return assume_assertion(w);
    w->loop->cost.operations += 10;
    switch (is) {
    case CALL_READS: f.arg[0] = f.arg[1] = ARG_READ; break;
    case CALL_STORES: f.arg[1] = f.arg[2] = ARG_WRITE | ARG_ONE; break;
    case CALL_COPIES:
        f.arg[0] = ARG_WRITE;
        for (int k = 1; k < EFFECT_ARGUMENTS; k++) f.arg[k] = ARG_READ;
        break;
    default: break;
    }
    arguments(w, call, &f);
    switch (is) {
    case CALL_ALLOCATES: return poly_atom(w->prover, atom_fresh(w->prover, call));
    case CALL_STATE:
        answer_ordered(w->answer, call,
                       "%s has hidden state: its result depends on the order of calls", name);
        break;
    case CALL_IO:
        answer_ordered(w->answer, call, "%s: input and output must happen in order", name);
        break;
    case CALL_LEAVES:
        answer_unsafe(w->answer, "control", call, "%s terminates the program", name);
        break;
    case CALL_LOCK:
        answer_unknown(w->answer, "call", call, "%s: locks are not analysed", name);
        break;
    case CALL_FREES: {
        int32_t arg = hpc_tree_child(w->t, call, 1);
        place p = {.base = -1};
        if (arg) place_behind(&p, w, value_of(w, arg), -1);
        bool own = p.base >= 0 && w->prover->atoms[p.base].kind == ATOM_OPAQUE &&
                   w->prover->atoms[p.base].op == 'F';
        if (!own)
            answer_unknown(w->answer, "memory", call,
                           "frees memory that the iteration did not allocate");
        break;
    }
    default: break;
    }
    return NULL;
}

/* An object is made of its arguments: of classes of the library it is their own. */
static const poly *construct(walk *w, int32_t call)
{
    const hpc_tree *t = w->t;
    int32_t type = bare_type(t, t->node[call].type);
    const char *name = kind_of(t, type) == HPC_TYPE_RECORD ? t->name + t->type[type].name : "";
    const poly *view = container_view(w, call);
    if (view || is_view(t, type)) return view;
    for (int32_t c = hpc_tree_first(t, call); c; c = hpc_tree_next(t, c)) value_of(w, c);
    bool library = strncmp(name, "std::", 5) == 0;
    bool locks = strstr(name, "lock") != NULL || strstr(name, "stream") != NULL;
    if ((!library && is_own_constructor(t, call)) || locks)
        answer_unknown(w->answer, "call", call, "the constructor of %s is not analysed",
                       name[0] ? name : "its class");
    return NULL;
}

const poly *call_value(walk *w, int32_t call)
{
    const hpc_tree *t = w->t;
    const hpc_tree_node *n = &t->node[call];
    const poly *v;
    inlined in;
    if (n->kind == HPC_TREE_CONSTRUCT) {
        v = construct(w, call);
    } else {
        call_known is = call_known_at(t, call);
        if (is >= CALL_METHOD_READ)
            v = call_method(w, call, is);
        else if (is != CALL_UNKNOWN)
            v = call_library(w, call, is);
        else if (inline_begin(&in, w, call)) {
            v = value_of(w, in.e);
            inline_end(&in, w);
        } else if (is_plain_assignment(w, call)) {
            v = assign_object(w, call);
        } else {
            v = call_of_file(w, call);
        }
    }
    return v ? v : poly_atom(w->prover, atom_opaque(w->prover, call));
}
