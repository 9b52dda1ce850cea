/*
 * match.c: comparing the operations that two ranks have started, with the error text
 * for a mismatch; and the members of links after a split.
 *
 * It compares descriptions only, so that every kind of link reports the same errors.
 */
#include "runtime/link/priv.h"

/* ---- collectives ----------------------------------------------------------- */
int64_t hpc_comm_send_n(const hpc_comm *c, int r)
{
    return c->send_n ? c->send_n[r] : c->n;
}

int64_t hpc_comm_recv_n(const hpc_comm *c, int r)
{
    return c->recv_n ? c->recv_n[r] : c->n;
}

static bool same_operation(const hpc_comm *a, const hpc_comm *b)
{
    if (a->kind != b->kind || a->dtype != b->dtype) return false;
    if (a->kind == HPC_ALL_TO_ALL) return true; /* counts are compared pair by pair */
    if (a->n != b->n) return false;
    if (a->kind == HPC_BROADCAST) return a->peer == b->peer;
    return a->kind == HPC_ALL_GATHER || a->reduce == b->reduce;
}

static int compare_operations(hpc_error *why, int64_t seq, const hpc_comm *const *comm, int a,
                              int b, const int *member)
{
    const hpc_comm *x = comm[a], *y = comm[b];
    hpc_assert(x && y);
    char first[96], second[96];
    if (same_operation(x, y)) return 0;
    if (x->kind == HPC_BROADCAST && y->kind == HPC_BROADCAST && x->peer != y->peer)
        return hpc_error_note(
            why, HPC_E_SHAPE,
            "collective %lld of the link: broadcast from rank %d on rank %d, but from "
            "rank %d on rank %d",
            (long long)seq, member[x->peer], member[a], member[y->peer], member[b]);
    return hpc_error_note(
        why, HPC_E_SHAPE,
        "collective %lld of the link: %s on rank %d, but %s on rank %d; all ranks "
        "must start the same ones in the same order",
        (long long)seq, hpc_comm_text(first, x), member[a], hpc_comm_text(second, y), member[b]);
}

static int compare_counts(hpc_error *why, const hpc_comm *const *comm, int from, int to,
                          const int *member)
{
    const hpc_comm *send = comm[from], *recv = comm[to];
    if (send->kind != HPC_ALL_TO_ALL || recv->kind != HPC_ALL_TO_ALL) return 0;
    int64_t sent = hpc_comm_send_n(send, to), expected = hpc_comm_recv_n(recv, from);
    if (sent == expected) return 0;
    return hpc_error_note(why, HPC_E_SHAPE,
                          "all_to_all: rank %d sends %lld %s to rank %d, which expects %lld",
                          member[from], (long long)sent, hpc_dtype_get(send->dtype)->name,
                          member[to], (long long)expected);
}

int hpc_comm_compare(hpc_error *why, int64_t seq, const hpc_comm *const *comm, int size, int rank,
                     const int *member)
{
    int rc = 0;
    for (int r = 0; r < size && rc == 0; r++) {
        if (!comm[r]) continue;
        if (r != rank)
            rc = compare_operations(why, seq, comm, r < rank ? r : rank, r < rank ? rank : r,
                                    member);
        if (rc == 0) rc = compare_counts(why, comm, r, rank, member);
        if (rc == 0) rc = compare_counts(why, comm, rank, r, member);
    }
    return rc;
}

/* ---- messages -------------------------------------------------------------- */
int hpc_message_compare(hpc_error *why, const hpc_comm *send, int from, const hpc_comm *recv,
                        int to)
{
    char s[96], r[96];
    if (send->dtype == recv->dtype && send->n == recv->n) return 0;
    return hpc_error_note(why, HPC_E_SHAPE,
                          "%s of rank %d does not match %s of rank %d with tag %d",
                          hpc_comm_text(s, send), from, hpc_comm_text(r, recv), to, send->tag);
}

int hpc_message_alone(const hpc_comm *c, int rank)
{
    return hpc_fail(HPC_E_STATE,
                    "%s: rank %d waits for itself under tag %d; start the other end first",
                    hpc_comm_name(c->kind), rank, c->tag);
}

/* ---- splitting ------------------------------------------------------------- */
int hpc_split_position(const int64_t *choice, int size, int rank)
{
    const int64_t *mine = choice + HPC_CHOICE_N * rank;
    int before = 0;
    for (int r = 0; r < size; r++) {
        const int64_t *other = choice + HPC_CHOICE_N * r;
        if (other[HPC_COLOR] != mine[HPC_COLOR]) continue;
        before += other[HPC_KEY] < mine[HPC_KEY] || (other[HPC_KEY] == mine[HPC_KEY] && r < rank);
    }
    return before;
}

int hpc_split_members(int *out, const int64_t *choice, const int *parent, int size, int rank)
{
    int n = 0;
    for (int r = 0; r < size; r++) {
        if (choice[HPC_CHOICE_N * r + HPC_COLOR] != choice[HPC_CHOICE_N * rank + HPC_COLOR])
            continue;
        out[hpc_split_position(choice, size, r)] = parent[r];
        n++;
    }
    return n;
}

int hpc_split_agree(const int64_t *code, int stride, const int *member, int size)
{
    for (int r = 0; r < size; r++)
        if (code[stride * r] < 0)
            return hpc_fail((int)code[stride * r], "split: rank %d could not make its part: %s",
                            member[r], hpc_error_name((int)code[stride * r]));
    return 0;
}
