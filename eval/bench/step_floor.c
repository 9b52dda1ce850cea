/*
 * step_floor.c: limits of a training step, measured between steps: multiply-adds in
 * registers, memory bandwidth, and the peers' products of the shapes that dominate the step.
 */
#include "eval/bench/priv.h"

enum { PRODUCTS = 3, OPERANDS = 3, CALLS = 2 };

typedef struct rival {
    const hpc_peer *peer;
    void *product[PRODUCTS]; /* forward, and the gradients of both factors */
} rival;

struct hpc_step_ruler {
    hpc_device *device;
    hpc_probe *probe;
    hpc_bench_peers *peers;
    rival rival[BENCH_PEERS];
    int rivals;
    double flops;             /* of all three products */
    float *operand[OPERANDS]; /* y, a, b of the largest */
};

static void close_rival(rival *v)
{
    for (int k = 0; k < PRODUCTS; k++)
        if (v->product[k]) v->peer->close(v->product[k]);
}

/* A peer that cannot do one of them is left out. */
static void add_rival(hpc_step_ruler *r, const hpc_peer *peer, const hpc_peer_product *p)
{
    rival v = {.peer = peer};
    bool all = true;
    for (int k = 0; k < PRODUCTS; k++) {
        v.product[k] = peer->open(&p[k]);
        all = all && v.product[k];
    }
    if (all && r->rivals < BENCH_PEERS)
        r->rival[r->rivals++] = v;
    else
        close_rival(&v);
}

static int make_operands(hpc_step_ruler *r, const hpc_bench_model *m)
{
    size_t rows = (size_t)(m->rows * m->length), hidden = (size_t)m->config.hidden,
           ffn = (size_t)m->config.ffn, most = rows * hidden;
    if (rows * ffn > most) most = rows * ffn;
    if (hidden * ffn > most) most = hidden * ffn;
    for (int k = 0; k < OPERANDS; k++) {
        r->operand[k] = hpc_alloc_aligned(most, sizeof **r->operand, HPC_ALIGN);
        if (!r->operand[k]) return HPC_E_NOMEM;
        for (size_t i = 0; i < most; i++) r->operand[k][i] = 0.01f * (float)(i % 97);
    }
    return HPC_OK;
}

static int open_rivals(hpc_step_ruler *r, const hpc_bench_model *m)
{
    hpc_device_info about = hpc_device_about(r->device);
    int64_t rows = m->rows * m->length, hidden = m->config.hidden, ffn = m->config.ffn;
    char note[BENCH_TEXT];
    hpc_peer_product p[PRODUCTS] = {
        {.m = rows, .k = hidden, .n = ffn, .trans_b = true},
        {.m = rows, .k = ffn, .n = hidden},
        {.m = ffn, .k = rows, .n = hidden, .trans_a = true},
    };
    int rc;
    TRY(hpc_bench_peers_open(&r->peers, note, about.isa, about.threads));
    if (!r->peers) goto out;
    TRY(make_operands(r, m));
    for (int k = 0; k < PRODUCTS; k++) {
        p[k].dtype = m->config.dtype;
        p[k].threads = about.threads;
    }
    for (const hpc_peer *const *x = hpc_bench_peers_list(r->peers); *x; x++) add_rival(r, *x, p);
    r->flops = 2.0 * PRODUCTS * (double)rows * (double)hidden * (double)ffn;
out:
    return rc;
}

int hpc_step_ruler_open(hpc_step_ruler **out, const hpc_bench_model *m,
                        const hpc_device_options *device)
{
    int rc = HPC_E_NOMEM;
    *out = NULL;
    hpc_step_ruler *r = hpc_alloc(1, sizeof *r);
    if (!r) goto out;
    TRY(hpc_device_open(&r->device, device));
    TRY(hpc_probe_open(&r->probe, r->device, 0.1));
    TRY(open_rivals(r, m));
    *out = r;
    r = NULL;
out:
    hpc_step_ruler_close(r);
    return rc;
}

void hpc_step_ruler_close(hpc_step_ruler *r)
{
    if (!r) return;
    for (int k = 0; k < r->rivals; k++) close_rival(&r->rival[k]);
    for (int k = 0; k < OPERANDS; k++) hpc_free(r->operand[k]);
    hpc_bench_peers_close(r->peers);
    hpc_probe_close(r->probe);
    if (r->device) hpc_device_close(r->device);
    hpc_free(r);
}

/* All its products, CALLS times after one warm-up. */
static int race(double *rate, const hpc_step_ruler *r, const rival *v)
{
    int64_t start = 0;
    for (int call = -1; call < CALLS; call++) {
        if (call == 0) start = hpc_clock_ns();
        for (int k = 0; k < PRODUCTS; k++)
            if (v->peer->run(v->product[k], r->operand[0], r->operand[1], r->operand[2]) != 0)
                return hpc_fail(HPC_E_UNSUPPORTED, "the peer %s failed", v->peer->name);
    }
    *rate = CALLS * r->flops / (double)(hpc_clock_ns() - start) * 1e9;
    return HPC_OK;
}

int hpc_step_ruler_measure(hpc_step_limits *out, hpc_step_ruler *r)
{
    int rc;
    *out = (hpc_step_limits){.peer = NULL};
    for (int k = 0; k < r->rivals; k++) {
        double rate = 0;
        TRY(race(&rate, r, &r->rival[k]));
        if (rate > out->peer_rate) out->peer_rate = rate, out->peer = r->rival[k].peer->name;
    }
    /* Last: it gives their threads time to fall asleep before the next step. */
    TRY(hpc_probe_limits(&out->machine, r->probe));
out:
    return rc;
}
