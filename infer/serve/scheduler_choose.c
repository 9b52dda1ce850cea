/*
 * Order of jobs: clients take turns, then the documents of a client; within a document the newest
 * job comes first. Jobs without a document are documents of their own, so they run in order of
 * arrival.
 */
#include "infer/serve/scheduler_priv.h"

bool scheduler_same_document(const scheduler_job *a, const scheduler_job *b)
{
    return a->o.client == b->o.client && a->document.low == b->document.low &&
           a->document.high == b->document.high;
}

static bool waits(const scheduler_job *j)
{
    return !j->given && !j->unwanted;
}

static bool reads_prompt(const scheduler_job *j)
{
    return j->given && !j->unwanted && j->first_ns == 0;
}

/* The client whose turn it is: the least recently served; ties go to the earliest arrival. */
static const scheduler_job *next_client(const hpc_scheduler *s)
{
    const scheduler_job *best = NULL;
    for (int64_t k = 0; k < s->n; k++) {
        const scheduler_job *j = s->job[k];
        if (waits(j) && (!best || j->client_turn < best->client_turn)) best = j;
    }
    return best;
}

static const scheduler_job *next_document(const hpc_scheduler *s, uint64_t client)
{
    const scheduler_job *best = NULL;
    for (int64_t k = 0; k < s->n; k++) {
        const scheduler_job *j = s->job[k];
        if (!waits(j) || j->o.client != client) continue;
        if (!best || j->document_turn < best->document_turn) best = j;
    }
    return best;
}

scheduler_job *scheduler_choose_waiting(const hpc_scheduler *s)
{
    const scheduler_job *client = next_client(s);
    if (!client) return NULL;
    const scheduler_job *document = next_document(s, client->o.client);
    for (int64_t k = s->n; k-- > 0;)
        if (waits(s->job[k]) && scheduler_same_document(s->job[k], document)) return s->job[k];
    return NULL;
}

scheduler_job *scheduler_choose_prompt(const hpc_scheduler *s)
{
    scheduler_job *best = NULL;
    for (int64_t k = s->n; k-- > 0;) {
        scheduler_job *j = s->job[k];
        if (reads_prompt(j) && (!best || j->prompt_turn < best->prompt_turn)) best = j;
    }
    return best;
}

void scheduler_note_start(hpc_scheduler *s, const scheduler_job *started)
{
    int64_t turn = ++s->turn;
    for (int64_t k = 0; k < s->n; k++) {
        scheduler_job *j = s->job[k];
        if (j->o.client == started->o.client) j->client_turn = turn;
        if (scheduler_same_document(j, started)) j->document_turn = turn;
    }
}

void scheduler_note_prompt(hpc_scheduler *s, const scheduler_job *read)
{
    int64_t turn = ++s->turn;
    for (int64_t k = 0; k < s->n; k++)
        if (s->job[k]->o.client == read->o.client) s->job[k]->prompt_turn = turn;
}

void scheduler_inherit_turns(const hpc_scheduler *s, scheduler_job *j)
{
    for (int64_t k = 0; k < s->n; k++) {
        const scheduler_job *x = s->job[k];
        if (x->o.client != j->o.client) continue;
        if (x->client_turn > j->client_turn) j->client_turn = x->client_turn;
        if (x->prompt_turn > j->prompt_turn) j->prompt_turn = x->prompt_turn;
        if (scheduler_same_document(x, j) && x->document_turn > j->document_turn)
            j->document_turn = x->document_turn;
    }
}
