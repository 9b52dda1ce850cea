/*
 * config.c: checks a configuration and computes its derived sizes.
 */
#include <math.h>

#include "model/priv.h"

/* Keep parameter counts within 64 bits and block numbers within their tag. */
enum { WIDTH_MOST = 1 << 22, ROWS_MOST = 1 << 30, LAYERS_MOST = INT16_MAX, RANK_MOST = 1 << 16 };

int64_t hpc_model_config_head_dim(const hpc_model_config *c)
{
    return c->head_dim > 0 ? c->head_dim : c->heads > 0 ? c->hidden / c->heads : 0;
}

int64_t hpc_model_config_window(const hpc_model_config *c, int64_t layer)
{
    return c->window_period > 0 && (layer + 1) % c->window_period == 0 ? 0 : c->window;
}

bool hpc_model_config_rotates(const hpc_model_config *c, int64_t layer)
{
    return c->position == HPC_ROTARY && !(c->rope_period > 0 && (layer + 1) % c->rope_period == 0);
}

bool hpc_model_config_has_experts(const hpc_model_config *c, int64_t layer)
{
    return c->experts > 0 && layer >= 0 &&
           (c->expert_every <= 1 || (layer + 1) % c->expert_every == 0);
}

static int check_sizes(const hpc_model_config *c)
{
    const struct {
        const char *key;
        int64_t value, most;
    } sizes[] = {{"vocab", c->vocab, ROWS_MOST},        {"hidden", c->hidden, WIDTH_MOST},
                 {"layers", c->layers, LAYERS_MOST},    {"heads", c->heads, WIDTH_MOST},
                 {"kv-heads", c->kv_heads, WIDTH_MOST}, {"ffn", c->ffn, WIDTH_MOST},
                 {"positions", c->positions, ROWS_MOST}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        if (sizes[k].value < 1 || sizes[k].value > sizes[k].most)
            return hpc_fail(HPC_E_ARG, "%s=%lld is not between 1 and %lld", sizes[k].key,
                            (long long)sizes[k].value, (long long)sizes[k].most);
    return HPC_OK;
}

static int check_divides(const char *a, int64_t na, const char *b, int64_t nb)
{
    if (nb > 0 && na % nb == 0) return HPC_OK;
    return hpc_fail(HPC_E_SHAPE, "%s=%lld is not a multiple of %s=%lld", a, (long long)na, b,
                    (long long)nb);
}

static int check_heads(const hpc_model_config *c)
{
    int rc = HPC_OK;
    if (c->head_dim < 0)
        TRY(hpc_fail(HPC_E_ARG, "head-dim=%lld is negative; 0 is hidden / heads",
                     (long long)c->head_dim));
    if (c->head_dim == 0) TRY(check_divides("hidden", c->hidden, "heads", c->heads));
    TRY(check_divides("heads", c->heads, "kv-heads", c->kv_heads));
    if (c->head_dim > WIDTH_MOST / c->heads)
        TRY(hpc_fail(HPC_E_SHAPE, "heads=%lld times head-dim=%lld exceeds %d", (long long)c->heads,
                     (long long)c->head_dim, WIDTH_MOST));
    if (c->window < 0)
        TRY(hpc_fail(HPC_E_ARG, "window=%lld is negative; 0 means no window",
                     (long long)c->window));
    if (c->window_period < 0 || c->rope_period < 0)
        TRY(hpc_fail(HPC_E_ARG, "%s-period=%lld is negative; 0 means that all layers are alike",
                     c->window_period < 0 ? "window" : "rope",
                     (long long)(c->window_period < 0 ? c->window_period : c->rope_period)));
out:
    return rc;
}

static int check_scaling(const hpc_rope_config *r)
{
    if (r->scaling < HPC_ROPE_PLAIN || r->scaling > HPC_ROPE_YARN)
        return hpc_fail(HPC_E_ARG, "unknown rope scaling %d", r->scaling);
    if (r->scaling == HPC_ROPE_PLAIN) return HPC_OK;
    if (!(r->factor > 0 && isfinite(r->factor)))
        return hpc_fail(HPC_E_ARG, "rope factor=%g must be above 0", r->factor);
    if (r->scaling == HPC_ROPE_LINEAR) return HPC_OK;
    if (r->original < 1)
        return hpc_fail(HPC_E_ARG, "rope original=%lld: positions before scaling are needed",
                        (long long)r->original);
    if (!(r->low > 0 && r->high > r->low && isfinite(r->high)))
        return hpc_fail(HPC_E_ARG, "rope low=%g must be between 0 and high=%g", r->low, r->high);
    if (!(r->attention >= 0 && isfinite(r->attention)))
        return hpc_fail(HPC_E_ARG, "rope attention=%g is negative", r->attention);
    return HPC_OK;
}

static int check_positions(const hpc_model_config *c)
{
    int64_t d = hpc_model_config_head_dim(c);
    if (c->position == HPC_LEARNED) return HPC_OK;
    if (c->position != HPC_ROTARY)
        return hpc_fail(HPC_E_ARG, "unknown kind of positions %d", c->position);
    if (!(c->rope.theta > 1 && isfinite(c->rope.theta)))
        return hpc_fail(HPC_E_ARG, "rope theta=%g must be above 1", c->rope.theta);
    if (c->rope.local_theta != 0 && !(c->rope.local_theta > 1 && isfinite(c->rope.local_theta)))
        return hpc_fail(HPC_E_ARG, "rope local-theta=%g must be above 1, or 0",
                        c->rope.local_theta);
    if (!(c->rope.share > 0 && c->rope.share <= 1))
        return hpc_fail(HPC_E_ARG, "rope share=%g must be in (0, 1]", c->rope.share);
    int64_t turned = (int64_t)((double)d * c->rope.share);
    if (turned < 2 || turned % 2)
        return hpc_fail(
            HPC_E_SHAPE,
            "head-dim=%lld times rope share=%g: %lld rotated elements; the number must be even",
            (long long)d, c->rope.share, (long long)turned);
    return check_scaling(&c->rope);
}

static int check_kinds(const hpc_model_config *c)
{
    if (c->norm != HPC_RMS && c->norm != HPC_LAYER)
        return hpc_fail(HPC_E_ARG, "unknown kind of norm %d", c->norm);
    if (!(c->norm_eps >= 0 && isfinite(c->norm_eps)))
        return hpc_fail(HPC_E_ARG, "norm-eps=%g must be at least 0", c->norm_eps);
    if (c->act <= HPC_ACT_NONE || c->act > HPC_RELU2)
        return hpc_fail(HPC_E_ARG, "unknown activation %d", c->act);
    if (!(c->dropout >= 0 && c->dropout < 1))
        return hpc_fail(HPC_E_ARG, "dropout=%g must be in [0, 1)", c->dropout);
    if (!(c->init_std >= 0 && isfinite(c->init_std)))
        return hpc_fail(HPC_E_ARG, "init-std=%g must be at least 0", c->init_std);
    const hpc_dtype_info *info = hpc_dtype_get(c->dtype);
    if (!info->real || info->quantised || info->held != c->dtype)
        return hpc_fail(HPC_E_ARG, "dtype=%s: expected f32, bf16, f16 or f64", info->name);
    return HPC_OK;
}

static int check_factors(const hpc_model_config *c)
{
    const struct {
        const char *key;
        double value;
    } all[] = {{"embed-scale", c->embed_scale},       {"attention-scale", c->attention_scale},
               {"residual-scale", c->residual_scale}, {"logit-scale", c->logit_scale},
               {"attention-cap", c->attention_cap},   {"logit-cap", c->logit_cap}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (!(all[k].value >= 0 && isfinite(all[k].value)))
            return hpc_fail(HPC_E_ARG, "%s=%g must be at least 0", all[k].key, all[k].value);
    if (c->norm_place < HPC_NORM_BEFORE || c->norm_place > HPC_NORM_AROUND)
        return hpc_fail(HPC_E_ARG, "unknown place of norms %d", c->norm_place);
    if (c->qk_norm < HPC_QK_PLAIN || c->qk_norm > HPC_QK_WHOLE)
        return hpc_fail(HPC_E_ARG, "unknown norm of q and k %d", c->qk_norm);
    if (c->norm != HPC_RMS && (c->norm_place != HPC_NORM_BEFORE || c->qk_norm != HPC_QK_PLAIN))
        return hpc_fail(HPC_E_ARG, "norms of q and k, and norms after layers, are RMS norms");
    if (c->parallel && c->norm_place == HPC_NORM_AFTER)
        return hpc_fail(HPC_E_ARG, "parallel layers have norms before them");
    return HPC_OK;
}

static int check_head(const hpc_model_config *c)
{
    if (c->head < HPC_HEAD_TOKENS || c->head > HPC_HEAD_PAIRS)
        return hpc_fail(HPC_E_ARG, "unknown kind of head %d", c->head);
    if (c->head != HPC_HEAD_TOKENS && (c->classes < 2 || c->classes > ROWS_MOST))
        return hpc_fail(HPC_E_ARG, "classes=%lld: a classification head needs at least 2",
                        (long long)c->classes);
    return HPC_OK;
}

static int check_tokens(const hpc_model_config *c)
{
    const hpc_adapter_config *a = &c->adapter;
    if (a->token_n < 0 || a->token_n > HPC_ADAPTER_TOKENS)
        return hpc_fail(HPC_E_ARG, "%lld tokens to train: at most %d are possible",
                        (long long)a->token_n, HPC_ADAPTER_TOKENS);
    for (int64_t k = 0; k < a->token_n; k++)
        if (a->token[k] < (k ? a->token[k - 1] + 1 : 0) || a->token[k] >= c->vocab)
            return hpc_fail(HPC_E_ARG,
                            "token %d to train: ids must ascend and be below the vocabulary of "
                            "%lld",
                            (int)a->token[k], (long long)c->vocab);
    return HPC_OK;
}

static int check_adapter(const hpc_model_config *c)
{
    const hpc_adapter_config *a = &c->adapter;
    if (a->rank == 0 && a->token_n)
        return hpc_fail(HPC_E_ARG, "tokens to train need adapters: set their rank");
    if (a->rank == 0) return HPC_OK;
    if (a->rank < 0 || a->rank > RANK_MOST)
        return hpc_fail(HPC_E_ARG, "adapter rank=%lld is not between 1 and %d", (long long)a->rank,
                        RANK_MOST);
    if (!isfinite(a->alpha) || a->alpha == 0)
        return hpc_fail(HPC_E_ARG, "adapter alpha=%g must be above 0", a->alpha);
    if (a->targets == 0)
        return hpc_fail(HPC_E_ARG, "an adapter of rank %lld has no targets", (long long)a->rank);
    for (int part = 0; part < 32; part++) {
        hpc_model_tensor t;
        int64_t b = 0;
        if (!(a->targets & 1u << part)) continue;
        while (b < c->layers && !model_tensor_at(&t, c, part, (int)b, 1)) b++;
        if (part >= HPC_PART_N || b == c->layers)
            return hpc_fail(HPC_E_ARG, "adapter target %s: this model has no such matrix",
                            part < HPC_PART_N ? model_part_name(part) : "beyond the last part");
    }
    return check_tokens(c);
}

static int check_experts(const hpc_model_config *c)
{
    if (c->experts == 0) return HPC_OK;
    if (c->experts < 0 || c->experts > HPC_EXPERTS_MOST)
        return hpc_fail(HPC_E_ARG, "experts=%lld is not between 1 and %d", (long long)c->experts,
                        HPC_EXPERTS_MOST);
    if (c->top_k < 1 || c->top_k > c->experts)
        return hpc_fail(HPC_E_ARG, "top-k=%lld is not between 1 and the %lld experts",
                        (long long)c->top_k, (long long)c->experts);
    if (c->expert_every < 0 || c->expert_every > c->layers)
        return hpc_fail(HPC_E_ARG, "expert-every=%lld: no layer of %lld has experts",
                        (long long)c->expert_every, (long long)c->layers);
    if (c->expert_ffn < 0 || c->expert_ffn > WIDTH_MOST || c->shared_ffn < 0 ||
        c->shared_ffn > WIDTH_MOST)
        return hpc_fail(HPC_E_ARG, "expert-ffn=%lld, shared-ffn=%lld: at most %d each",
                        (long long)c->expert_ffn, (long long)c->shared_ffn, WIDTH_MOST);
    if (!c->gated || c->mlp_bias || c->parallel)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "experts are gated MLPs without biases, in layers that are not parallel");
    return HPC_OK;
}

int hpc_model_config_check(const hpc_model_config *c)
{
    int rc = HPC_OK;
    TRY(check_sizes(c));
    TRY(check_heads(c));
    TRY(check_positions(c));
    TRY(check_kinds(c));
    TRY(check_factors(c));
    TRY(check_experts(c));
    TRY(check_head(c));
    TRY(check_adapter(c));
out:
    return rc;
}

/* ---- sums over the table ------------------------------------------------------------------ */

typedef struct counts {
    int64_t all;
    double trained, frozen; /* parameters in matrices that a token multiplies */
    double expert;          /* operations of one expert in each layer that has experts */
} counts;

/* A product forward and both of backward; without that of its own gradient if frozen. */
static double operations(bool trainable)
{
    return trainable ? 6 : 4;
}

/* A token multiplies top_k matrices of a batch. */
static void count(counts *n, const hpc_model_config *c, const hpc_model_tensor *t)
{
    bool product = t->role == HPC_ROLE_MATRIX || t->role == HPC_ROLE_HEAD;
    double one = (double)model_tensor_n(t) / (double)(t->batch > 0 ? t->batch : 1);
    n->all += model_tensor_n(t);
    if (t->batch > 0) n->expert += operations(t->trainable) * one;
    if (t->batch > 0) one *= (double)c->top_k;
    if (product) *(t->trainable ? &n->trained : &n->frozen) += one;
}

static counts count_all(const hpc_model_config *c)
{
    counts n = {0};
    hpc_model_tensor t;
    for (int part = 0; part < HPC_PART_N; part++)
        for (int adapter = 0; adapter < HPC_ADAPTER_KINDS; adapter++) {
            bool inside = model_part_in_block(part);
            for (int64_t b = 0; b < (inside ? c->layers : 1); b++)
                if (model_tensor_at(&t, c, part, inside ? (int)b : -1, adapter)) count(&n, c, &t);
        }
    return n;
}

int64_t hpc_model_config_params(const hpc_model_config *c)
{
    return count_all(c).all;
}

double hpc_model_config_flops(const hpc_model_config *c, int64_t length)
{
    counts n = count_all(c);
    hpc_model_tensor embed;
    double keys = 0, window = (double)c->window; /* keys: sum over layers */
    for (int64_t k = 0; k < c->layers; k++) {
        bool local = hpc_model_config_window(c, k) > 0 && c->window < length;
        keys += local ? window - window * window / (2 * (double)length) : (double)length / 2;
    }
    if (c->tied && c->head == HPC_HEAD_TOKENS && model_tensor_at(&embed, c, HPC_PART_EMBED, -1, 0))
        *(embed.trainable ? &n.trained : &n.frozen) += (double)model_tensor_n(&embed);
    double width = (double)(c->heads * hpc_model_config_head_dim(c));
    return operations(true) * n.trained + operations(false) * n.frozen + 12.0 * width * keys;
}

double hpc_model_config_expert_flops(const hpc_model_config *c)
{
    return count_all(c).expert;
}

int64_t hpc_model_config_expert_layers(const hpc_model_config *c)
{
    if (c->experts == 0) return 0;
    return c->layers / (c->expert_every > 1 ? c->expert_every : 1);
}
