/*
 * Access to the engine that samples answers: the completer's own, which the caller steps, or one
 * that another thread runs, through a port.
 */
#include "infer/complete/answer.h"

int complete_drive_submit(const complete_run *x, const hpc_request *q, int64_t *id)
{
    const hpc_complete_port *port = x->r->port;
    return port ? port->submit(port->user, q, id) : hpc_engine_submit(x->c->engine, q, id);
}

void complete_drive_cancel(const complete_run *x, int64_t id)
{
    const hpc_complete_port *port = x->r->port;
    if (port)
        port->cancel(port->user, id);
    else
        hpc_engine_cancel(x->c->engine, id);
}

int complete_drive_step(const complete_run *x, bool *busy)
{
    const hpc_complete_port *port = x->r->port;
    return port ? port->step(port->user, busy) : hpc_engine_step(x->c->engine, busy);
}

hpc_engine_counts complete_drive_counts(const complete_run *x)
{
    const hpc_complete_port *port = x->r->port;
    return port ? port->counts(port->user) : hpc_engine_counts_of(x->c->engine);
}
