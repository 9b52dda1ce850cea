/*
 * machine.c: reads machine descriptions, and models the time of a collective on their links.
 *
 * It does not model congestion between collectives, topologies other than a hierarchy, or
 * stragglers.
 */
#include <math.h>
#include <stdio.h>

#include "train/simulate.h"

enum { VERSION = 1 };

/* ---- reading ----------------------------------------------------------------------------------
 */

static int real(double *out, const hpc_json *object, const char *key, double least, double most)
{
    int rc = hpc_json_real(out, hpc_json_get(object, key), key);
    if (rc < 0) return rc;
    if (*out >= least && *out <= most) return HPC_OK;
    return hpc_fail(HPC_E_FORMAT, "%s=%g: expected %g to %g", key, *out, least, most);
}

static const char *const types[HPC_MACHINE_RATES] = {"f64", "f32", "bf16"};

static int by_type(double *out, const hpc_json *object, const char *key, double least, double most)
{
    const hpc_json *of = hpc_json_get(object, key);
    int rc = HPC_OK;
    for (int k = 0; k < HPC_MACHINE_RATES; k++) TRY(real(&out[k], of, types[k], least, most));
out:
    return rc < 0 ? hpc_error_where("%s", key) : rc;
}

static int text(char *out, size_t size, const hpc_json *object, const char *key)
{
    const char *from;
    int rc = hpc_json_text(&from, hpc_json_get(object, key), key);
    if (rc >= 0) snprintf(out, size, "%s", from);
    return rc;
}

static int read_level(hpc_machine_level *out, const hpc_json *v, int below, bool last)
{
    int64_t devices = 0;
    int rc;
    TRY(text(out->name, sizeof out->name, v, "name"));
    TRY(real(&out->bandwidth, v, "bandwidth", 1, 1e18));
    TRY(real(&out->latency, v, "latency", 0, 10));
    if (!last) {
        TRY(hpc_json_int(&devices, hpc_json_get(v, "devices"), "devices"));
        if (devices <= below || devices % below != 0 || devices > 1 << 24)
            TRY(hpc_fail(HPC_E_FORMAT, "devices=%lld: expected a multiple of %d",
                         (long long)devices, below));
    }
    out->devices = (int)devices;
out:
    return rc;
}

static int read_levels(hpc_machine *out, const hpc_json *list)
{
    int64_t n = hpc_json_n(list);
    int below = 1;
    if (hpc_json_kind_of(list) != HPC_JSON_LIST || n < 1 || n > HPC_MACHINE_LEVELS)
        return hpc_fail(HPC_E_FORMAT, "levels: expected a list of 1 to %d", HPC_MACHINE_LEVELS);
    for (int64_t k = 0; k < n; k++) {
        int rc = read_level(&out->level[k], hpc_json_at(list, k), below, k + 1 == n);
        if (rc < 0) return hpc_error_where("levels[%lld]", (long long)k);
        below = out->level[k].devices;
    }
    out->level_n = (int)n;
    return HPC_OK;
}

static int read_fields(hpc_machine *out, const hpc_json *root)
{
    int64_t version;
    int rc;
    TRY(hpc_json_int(&version, hpc_json_get(root, "machine_version"), "machine_version"));
    if (version != VERSION)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "machine_version=%lld: this program reads %d",
                     (long long)version, VERSION));
    TRY(text(out->name, sizeof out->name, root, "name"));
    TRY(hpc_json_bool(&out->host, hpc_json_get(root, "host"), "host"));
    TRY(real(&out->memory, root, "memory_bytes", 1, 1e18));
    TRY(by_type(out->rate, root, "operations_per_s", 1, 1e21));
    TRY(by_type(out->product, root, "product_share", 1e-6, 1));
    TRY(real(&out->attention, root, "attention_share", 1e-6, 1));
    TRY(real(&out->other, root, "other_share", 1e-6, 1));
    TRY(real(&out->half, root, "product_half", 0, 1e6));
    TRY(real(&out->bandwidth, root, "memory_bytes_per_s", 1, 1e18));
    TRY(real(&out->stream, root, "stream_share", 1e-6, 1));
    TRY(real(&out->launch, root, "launch_s", 0, 1));
    TRY(read_levels(out, hpc_json_get(root, "levels")));
out:
    return rc;
}

int hpc_machine_parse(hpc_machine *out, const hpc_json *root, const char *source)
{
    *out = (hpc_machine){.level_n = 0};
    if (hpc_json_kind_of(root) != HPC_JSON_OBJECT)
        return hpc_fail(HPC_E_FORMAT, "%s: expected an object", source);
    return read_fields(out, root) < 0 ? hpc_error_where("%s", source) : HPC_OK;
}

int hpc_machine_read(hpc_machine *out, const char *path)
{
    hpc_json *root = NULL;
    int rc = hpc_json_read(&root, path);
    if (rc >= 0) rc = hpc_machine_parse(out, root, path);
    hpc_json_free(root);
    return rc;
}

/* ---- links ------------------------------------------------------------------------------------
 */

static const uint8_t slowest_first[HPC_AXIS_N] = {HPC_AXIS_DATA,  HPC_AXIS_EXPERT, HPC_AXIS_PIPE,
                                                  HPC_AXIS_DEPTH, HPC_AXIS_ROW,    HPC_AXIS_COL};

static int extent_of(const hpc_grid_shape *s, int a)
{
    return s->extent[a] > 1 ? s->extent[a] : 1;
}

/* Members that share this rank's group of a level, if ranks are devices in their order. */
static int members_within(const hpc_grid_shape *s, const int *coord, hpc_axes axes, int devices)
{
    int c[HPC_AXIS_N], n = 0, all = hpc_grid_size(s);
    int own = hpc_grid_rank(s, coord) / devices;
    for (int r = own * devices; r < (own + 1) * devices && r < all; r++) {
        bool ours = true;
        hpc_grid_coords(c, s, r);
        for (int a = 0; a < HPC_AXIS_N; a++) ours = ours && (axes >> a & 1 || c[a] == coord[a]);
        n += ours;
    }
    return n;
}

hpc_simulated_link hpc_simulate_link(const hpc_machine *m, const hpc_grid_shape *s,
                                     const int *coord, hpc_axes axes)
{
    hpc_simulated_link l = {.size = 1};
    int within = 1;
    for (int k = 0; k < HPC_AXIS_N; k++) {
        int a = slowest_first[k];
        if (!(axes >> a & 1)) continue;
        l.size *= extent_of(s, a);
        l.rank = l.rank * extent_of(s, a) + coord[a];
    }
    for (int k = 0; k < m->level_n; k++) {
        int devices = m->level[k].devices;
        int n = devices ? members_within(s, coord, axes, devices) : l.size;
        l.across[k] = n / within > 1 ? n / within : 1;
        within = n;
    }
    return l;
}

int64_t hpc_simulate_sent(const hpc_simulated_link *l, hpc_comm_kind kind, hpc_dtype dtype,
                          int64_t n)
{
    int64_t lo, hi, sent = 0;
    const hpc_dtype_info *d = hpc_dtype_get(dtype);
    if (l->size == 1) return 0;
    if (kind == HPC_ALL_REDUCE) { /* twice all parts but its own, and but its right neighbour's */
        sent = 2 * n;
        hpc_share(&lo, &hi, n, 1, l->rank, l->size);
        sent -= hi - lo;
        hpc_share(&lo, &hi, n, 1, (l->rank + 1) % l->size, l->size);
        sent -= hi - lo;
    } else
        sent = (l->size - 1) * n;
    return sent / d->block * (int64_t)d->block_bytes;
}

/* Number of links that share the bandwidth out of a group of the level below. */
static double sharers(const hpc_machine *m, const hpc_simulated_link *l, int level)
{
    double members = 1, devices = level > 0 ? m->level[level - 1].devices : 1;
    for (int k = 0; k < level; k++) members *= l->across[k];
    return devices > members ? devices / members : 1;
}

/* One ring through all ranks: the narrowest link that it passes. */
static double flat(const hpc_machine *m, const hpc_simulated_link *l, double passes, double bytes)
{
    double time = 0, latency = 0, n = l->size;
    for (int k = 0; k < m->level_n; k++) {
        if (l->across[k] == 1) continue;
        double share = m->level[k].bandwidth / sharers(m, l, k);
        time = fmax(time, passes * (n - 1) / n * bytes / share);
        latency = fmax(latency, m->level[k].latency);
    }
    return time + passes * (n - 1) * latency;
}

/* Hierarchical: a group's outgoing data are divided among its members. A sum uses a tree if that
 * has fewer steps. */
static double by_level(const hpc_machine *m, const hpc_simulated_link *l, double passes,
                       double bytes)
{
    double time = 0;
    for (int k = 0; k < m->level_n; k++) {
        double n = l->across[k], steps = n - 1;
        if (n == 1) continue;
        if (passes == 2) steps = fmin(steps, ceil(log2(n)));
        double share = m->level[k].bandwidth / sharers(m, l, k);
        time += passes * ((n - 1) / n * bytes / share + steps * m->level[k].latency);
    }
    return time;
}

/* Each rank sends every other rank its part. The parts that the members of a group send to ranks of
 * other groups share what leads out of the group. */
static double pairwise(const hpc_machine *m, const hpc_simulated_link *l, double bytes)
{
    double time = 0, members = 1;
    for (int k = 0; k < m->level_n; k++) {
        double peers = (l->across[k] - 1) * members;
        double share = m->level[k].bandwidth / sharers(m, l, k);
        time += peers * (members * bytes / l->size / share + m->level[k].latency);
        members *= l->across[k];
    }
    return time;
}

double hpc_simulate_seconds(const hpc_machine *m, const hpc_simulated_link *l, hpc_comm_kind kind,
                            double bytes)
{
    double passes = kind == HPC_ALL_REDUCE ? 2 : 1;
    if (l->size == 1) return 0;
    if (kind == HPC_ALL_TO_ALL) return pairwise(m, l, bytes);
    return fmin(flat(m, l, passes, bytes), by_level(m, l, passes, bytes));
}

/* ---- the plane of a tensor's axes ----------------------------------------------------------- */

double hpc_simulate_volume(int row, int col)
{
    return 8.0 / (row * col) * (3.0 * (col - 1) + (row - 1));
}

void hpc_simulate_best_plane(int *row, int *col, int ranks)
{
    *row = ranks;
    *col = 1;
    for (int c = 1; c <= ranks; c++)
        if (ranks % c == 0 && hpc_simulate_volume(ranks / c, c) < hpc_simulate_volume(*row, *col)) {
            *row = ranks / c;
            *col = c;
        }
}
