/*
 * complete_port.h: completions (infer/complete) whose answers are jobs of a scheduler.
 *
 * The port belongs to one call of hpc_complete at a time; ports and completers of several threads
 * may share a scheduler.
 */
#ifndef HPC_COMPLETE_PORT_H
#define HPC_COMPLETE_PORT_H

#include "infer/complete/complete.h"
#include "infer/serve/scheduler.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_scheduler_port hpc_scheduler_port;

/* client, document, supersede, predict_ms and `group` of `like` go into each job, the rest comes
 * from the completion; `group` must not be 0 where supersede is set, so that its answers do not
 * supersede each other. like->document is copied. */
int hpc_scheduler_port_open(hpc_scheduler_port **out, hpc_scheduler *s, const hpc_job *like);
void hpc_scheduler_port_close(hpc_scheduler_port *p);
/* For hpc_complete_request.port; lives as long as p. */
const hpc_complete_port *hpc_scheduler_port_get(const hpc_scheduler_port *p);
/* A job was superseded by another port's or caller's job. */
bool hpc_scheduler_port_superseded(hpc_scheduler_port *p);
/* The slot of the job that ended last; -1: it never ran. */
int64_t hpc_scheduler_port_slot(hpc_scheduler_port *p);
/* Lets a running hpc_complete look at its `cancel` at once; from any thread. */
void hpc_scheduler_port_wake(hpc_scheduler_port *p);

#ifdef __cplusplus
}
#endif
#endif
