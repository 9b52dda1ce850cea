/*
 * nest.c: the stack of open statements and blocks in the search for loops, the
 * directives that wait for a statement, and the effect of #if on both.
 *
 * loop.c and loop_fortran.c interpret C tokens and Fortran statements. After an #endif
 * the state of the first branch of its #if counts; statements that other branches
 * opened end with those of the first.
 */
#include "runtime/source/nest.h"

enum { TWINS = 64 }; /* nodes compared at an #endif, and twins that a loop can have */

int hpc_nest_init(hpc_nest *n)
{
    int rc = hpc_grow(&n->node, &n->node_cap, 1, sizeof *n->node);
    if (rc < 0) return rc;
    n->node[0] = (hpc_nest_node){.parent = -1,
                                 .fence = n->fortran ? -1 : 0,
                                 .region = -1,
                                 .body = -1,
                                 .function = -1,
                                 .loop = -1,
                                 .kind = HPC_NEST_ROOT};
    n->last_closed = -1;
    n->last_line = 1;
    return HPC_OK;
}

void hpc_nest_release(hpc_nest *n)
{
    hpc_free(n->node);
    hpc_free(n->branch);
    hpc_free(n->twin);
    hpc_tokens_release(&n->words);
    hpc_buf_release(&n->string);
}

/* ---- nodes -------------------------------------------------------------------- */

/* Nodes that an open #if still needs are not written over. */
static int put(hpc_nest *n, const hpc_nest_node *node)
{
    int32_t floor = n->branch_n > 0 ? n->branch[n->branch_n - 1].floor : 0;
    int64_t at = (floor > n->s.top ? floor : n->s.top) + (int64_t)1;
    if (at == INT32_MAX)
        return hpc_fail(HPC_E_UNSUPPORTED, "line %u: nested too deeply", n->last_line);
    int rc = hpc_grow(&n->node, &n->node_cap, at + 1, sizeof *n->node);
    if (rc < 0) return rc;
    n->node[at] = *node;
    n->s.top = (int32_t)at;
    bool fence = n->fortran ? node->kind == HPC_NEST_LOOP || node->kind == HPC_NEST_DO
                            : node->kind == HPC_NEST_BLOCK || node->kind == HPC_NEST_PAREN;
    if (fence) n->node[at].fence = (int32_t)at;
    if (node->kind == HPC_NEST_REGION) n->node[at].region = (int32_t)at;
    return HPC_OK;
}

int hpc_nest_push(hpc_nest *n, hpc_nest_kind kind)
{
    hpc_nest_node node = *hpc_nest_top(n);
    node.parent = n->s.top;
    node.kind = (uint8_t)kind;
    node.label = 0;
    return put(n, &node);
}

int hpc_nest_become(hpc_nest *n, hpc_nest_kind kind)
{
    hpc_nest_node node = *hpc_nest_top(n);
    n->s.top = node.parent;
    node.kind = (uint8_t)kind;
    node.fence = hpc_nest_top(n)->fence;
    return put(n, &node);
}

int hpc_nest_enter(hpc_nest *n, hpc_nest_kind kind, int32_t function)
{
    int rc = hpc_nest_push(n, kind);
    if (rc < 0) return rc;
    hpc_nest_node *node = &n->node[n->s.top];
    if (n->fortran) node->fence = -1;
    node->region = -1;
    node->body = n->s.top;
    node->function = function;
    node->loop = -1;
    node->parallel = false;
    hpc_nest_forget(n);
    return HPC_OK;
}

/* ---- loops --------------------------------------------------------------------- */

/* Twins share directives, which then say the first of them. */
static void claim(hpc_nest *n, int32_t loop)
{
    for (int64_t k = n->s.chain + n->s.chain_n - 1; k >= n->s.chain; k--) {
        if (n->out->pragma[k].loop >= 0) break;
        n->out->pragma[k].loop = loop;
    }
}

int hpc_nest_loop(hpc_nest *n, hpc_nest_kind kind, const hpc_token *at)
{
    hpc_loops *l = n->out;
    const hpc_nest_node *top = hpc_nest_top(n);
    int32_t i = (int32_t)l->n;
    int rc = HPC_OK;
    if (l->n == INT32_MAX) TRY(hpc_fail(HPC_E_UNSUPPORTED, "line %u: too many loops", at->line));
    TRY(hpc_grow(&l->item, &l->cap, l->n + 1, sizeof *l->item));
    TRY(hpc_grow(&n->twin, &n->twin_cap, l->n + 1, sizeof *n->twin));
    bool outside = top->parallel || n->s.region || (n->s.chain_n > 0 && n->s.chain_region);
    l->item[i] = (hpc_loop){.at = at->at,
                            .line = at->line,
                            .outer = top->loop,
                            .depth = top->loop < 0 ? 0 : l->item[top->loop].depth + 1,
                            .function = top->function,
                            .pragma = n->s.chain_n > 0 ? n->s.chain : -1,
                            .pragmas_n = n->s.chain_n,
                            .in_parallel = outside};
    n->twin[i] = -1;
    l->n++;
    if (n->s.chain_n > 0) claim(n, i);
    TRY(hpc_nest_push(n, kind));
    n->node[n->s.top].loop = i;
    n->node[n->s.top].parallel = outside || n->s.chain_n > 0;
    hpc_nest_forget(n);
out:
    return rc;
}

void hpc_nest_body(hpc_nest *n, int32_t i, const hpc_token *at, bool braced)
{
    for (int k = 0; i >= 0 && k < TWINS; i = n->twin[i], k++) {
        hpc_loop *l = &n->out->item[i];
        if (l->body_at) continue;
        l->body_at = at->at;
        l->braced = braced;
    }
}

void hpc_nest_close(hpc_nest *n, int32_t i)
{
    n->last_closed = i;
    for (int k = 0; i >= 0 && k < TWINS; i = n->twin[i], k++) {
        hpc_loop *l = &n->out->item[i];
        if (l->complete) continue;
        l->end = n->last_end;
        l->end_line = n->last_line;
        l->complete = true;
    }
}

bool hpc_nest_awaits(uint8_t kind)
{
    return kind == HPC_NEST_LOOP || kind == HPC_NEST_ONE || kind == HPC_NEST_IF ||
           kind == HPC_NEST_DO || kind == HPC_NEST_TRY;
}

int hpc_nest_finish(hpc_nest *n)
{
    for (;;) {
        const hpc_nest_node *top = hpc_nest_top(n);
        switch (top->kind) {
        case HPC_NEST_LOOP: hpc_nest_close(n, top->loop); break;
        case HPC_NEST_ONE: break;
        case HPC_NEST_IF: return hpc_nest_become(n, HPC_NEST_IF_DONE);
        case HPC_NEST_DO: return hpc_nest_become(n, HPC_NEST_DO_DONE);
        case HPC_NEST_TRY: return hpc_nest_become(n, HPC_NEST_TRY_DONE);
        default: return HPC_OK;
        }
        n->s.top = top->parent;
    }
}

/* Closes the constructs that the next token might have continued. */
static int give_up(hpc_nest *n, int32_t down_to)
{
    while (n->s.top > down_to) {
        uint8_t kind = hpc_nest_top(n)->kind;
        if (kind != HPC_NEST_EXPR_DONE && kind != HPC_NEST_IF_DONE && kind != HPC_NEST_DO_DONE &&
            kind != HPC_NEST_TRY_DONE)
            break;
        n->s.top = hpc_nest_top(n)->parent;
        int rc = hpc_nest_finish(n);
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

/* ---- directives that wait -------------------------------------------------------- */

bool hpc_nest_take(hpc_nest *n)
{
    bool parallel = n->s.region || n->s.chain_n > 0;
    hpc_nest_forget(n);
    return parallel;
}

void hpc_nest_forget(hpc_nest *n)
{
    n->s.chain_n = 0;
    n->s.region = n->s.chain_region = false;
}

static void extend_chain(hpc_nest *n, int32_t i)
{
    if (n->s.chain_n == 0) n->s.chain = i;
    n->s.chain_n = i - n->s.chain + 1;
}

/* Pending directives belong to another statement; a pending region continues around the next
 * one. */
static void cut_chain(hpc_nest *n, bool region)
{
    n->s.region = n->s.region || region || (n->s.chain_n > 0 && n->s.chain_region);
    n->s.chain_n = 0;
    n->s.chain_region = false;
}

static int open_region(hpc_nest *n, int32_t i, bool parallel)
{
    int rc = hpc_nest_push(n, HPC_NEST_REGION);
    if (rc < 0) return rc;
    hpc_nest_node *node = &n->node[n->s.top];
    node->label = n->out->pragma[i].words & ~(uint32_t)HPC_OMP_OTHER;
    node->parallel = node->parallel || parallel;
    hpc_nest_forget(n);
    return HPC_OK;
}

/* "!$omp end parallel do" of the loop just ended, or the end of a region. */
static void close_region(hpc_nest *n, int32_t i)
{
    hpc_pragma *end = &n->out->pragma[i];
    uint32_t words = end->words & ~(uint32_t)HPC_OMP_OTHER;
    int32_t loop = n->last_closed, r = hpc_nest_top(n)->region;
    hpc_nest_forget(n);
    for (int32_t k = 0; loop >= 0 && k < n->out->item[loop].pragmas_n && k < TWINS; k++) {
        const hpc_pragma *p = &n->out->pragma[n->out->item[loop].pragma + k];
        if (p->api != end->api || (p->words & ~(uint32_t)HPC_OMP_OTHER) != words) continue;
        end->loop = loop;
        return;
    }
    for (int k = 0; r >= 0 && k < TWINS; k++) {
        int32_t parent = n->node[r].parent;
        if (n->node[r].label == words) {
            n->s.top = parent;
            return;
        }
        r = n->node[parent].region;
    }
}

int hpc_nest_wait(hpc_nest *n, int32_t i, hpc_pragma_kind kind)
{
    switch (kind) {
    case HPC_PRAGMA_LOOP: extend_chain(n, i); return HPC_OK;
    case HPC_PRAGMA_BLOCK:
        if (n->fortran) return open_region(n, i, true);
        extend_chain(n, i);
        n->s.chain_region = true;
        return HPC_OK;
    case HPC_PRAGMA_REGION:
        if (n->fortran) return open_region(n, i, true);
        cut_chain(n, true);
        return HPC_OK;
    case HPC_PRAGMA_DATA:
        if (n->fortran) return open_region(n, i, false);
        cut_chain(n, false);
        return HPC_OK;
    case HPC_PRAGMA_CLOSE: close_region(n, i); return HPC_OK;
    default: hpc_nest_forget(n); return HPC_OK;
    }
}

/* ---- #if ------------------------------------------------------------------------- */

int64_t hpc_nest_behind(const hpc_nest *n, int64_t i)
{
    const hpc_tokens *t = n->t;
    for (i++; i < t->n; i++) {
        if (t->item[i].kind == HPC_TOKEN_END_DIRECTIVE) return i + 1;
        if (!(t->item[i].flags & HPC_TOKEN_IN_DIRECTIVE)) return i;
    }
    return i;
}

/* The loops that this branch opened end where those of the first one end. */
static void join_loops(hpc_nest *n, const hpc_nest_branch *b)
{
    int32_t x = b->first.top, y = n->s.top;
    for (int k = 0; k < TWINS && x != y && x > b->base.top && y > b->base.top; k++) {
        int32_t i = n->node[x].loop, j = n->node[y].loop;
        bool loops = (n->node[x].kind == HPC_NEST_LOOP || n->node[x].kind == HPC_NEST_LOOP_HEAD) &&
                     n->node[x].kind == n->node[y].kind;
        if (loops && i != j && n->twin[j] < 0) {
            n->twin[j] = n->twin[i];
            n->twin[i] = j;
        }
        x = n->node[x].parent;
        y = n->node[y].parent;
    }
}

/* Directives of several branches all wait; those of later ones are other choices. */
static void join_chains(hpc_nest *n, hpc_nest_branch *b)
{
    hpc_nest_state *first = &b->first, *now = &n->s;
    first->region = first->region || now->region;
    if (now->chain_n == 0) return;
    if (first->chain_n == 0) {
        if (first->top == b->base.top) {
            first->chain = now->chain;
            first->chain_n = now->chain_n;
            first->chain_region = now->chain_region;
        }
        return;
    }
    int64_t last = now->chain + (int64_t)now->chain_n - 1;
    int64_t known = first->chain + (int64_t)first->chain_n - 1;
    for (int64_t k = last; k > known && !n->out->pragma[k].alternative; k--)
        n->out->pragma[k].alternative = true;
    if (last > known) first->chain_n = (int32_t)(last - first->chain + 1);
    first->chain_region = first->chain_region || now->chain_region;
}

static void raise_floor(hpc_nest_branch *b, int32_t top)
{
    if (top > b->floor) b->floor = top;
}

/* Ends a branch that is not the first. Nothing follows it after its end, unless it is the head of a
 * loop with a body common to both branches. */
static int end_other(hpc_nest *n, hpc_nest_branch *b)
{
    bool head = !n->fortran && n->s.top > b->base.top && hpc_nest_awaits(hpc_nest_top(n)->kind);
    if (head && b->first.top == b->base.top) {
        b->first = n->s;
        raise_floor(b, n->s.top);
        return HPC_OK;
    }
    int rc = give_up(n, b->base.top);
    join_loops(n, b);
    join_chains(n, b);
    return rc;
}

/* Ends a branch that is the first, is joined to it, or is never compiled. */
static int end_branch(hpc_nest *n, hpc_nest_branch *b)
{
    if (n->dead) return HPC_OK;
    if (b->has_first) return end_other(n, b);
    b->first = n->s;
    b->has_first = true;
    raise_floor(b, n->s.top);
    return HPC_OK;
}

/* Of "#if": true if the whole condition is the number `digit`. */
static bool condition_is(const hpc_nest *n, int64_t i, char digit)
{
    const hpc_token *t = n->t->item;
    return i + 2 < n->t->n && t[i].kind == HPC_TOKEN_NUMBER && t[i].n == 1 &&
           n->text[t[i].at] == digit && t[i + 1].kind == HPC_TOKEN_END_DIRECTIVE;
}

static int begin_if(hpc_nest *n, int64_t i)
{
    if (n->dead) {
        n->dead++;
        return HPC_OK;
    }
    int rc = hpc_grow(&n->branch, &n->branch_cap, n->branch_n + 1, sizeof *n->branch);
    if (rc < 0) return rc;
    int32_t floor = n->branch_n > 0 ? n->branch[n->branch_n - 1].floor : 0;
    hpc_nest_branch *b = &n->branch[n->branch_n++];
    *b = (hpc_nest_branch){.base = n->s, .floor = floor};
    raise_floor(b, n->s.top);
    n->dead = condition_is(n, i, '0');
    b->rest_dead = condition_is(n, i, '1');
    return HPC_OK;
}

int hpc_nest_conditional(hpc_nest *n, int64_t i)
{
    const hpc_token *word = i + 1 < n->t->n ? &n->t->item[i + 1] : NULL;
    if (!word || word->kind != HPC_TOKEN_NAME) return HPC_OK;
    const char *at = n->text + word->at;
    if (word->n >= 2 && memcmp(at, "if", 2) == 0)
        return word->n == 2 || word->n == 5 || word->n == 6 ? begin_if(n, i + 2) : HPC_OK;
    bool end = word->n == 5 && memcmp(at, "endif", 5) == 0;
    if (!end && !(word->n >= 4 && (memcmp(at, "else", 4) == 0 || memcmp(at, "elif", 4) == 0)))
        return HPC_OK;
    if (n->branch_n == 0) return HPC_OK;
    if (n->dead > 1) {
        if (end) n->dead--;
        return HPC_OK;
    }
    hpc_nest_branch *b = &n->branch[n->branch_n - 1];
    int rc = end_branch(n, b);
    if (rc < 0) return rc;
    n->dead = 0;
    if (end) {
        n->s = b->has_first ? b->first : b->base;
        n->branch_n--;
    } else {
        n->s = b->base;
        n->dead = b->rest_dead;
    }
    return HPC_OK;
}
