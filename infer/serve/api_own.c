/*
 * Our own endpoints: /v1/pragma and /v1/perf run the commands that they are named after.
 */
#include "infer/serve/api_priv.h"
#include "infer/serve/tool.h"

enum { SECONDS = 120 };

static int run_tool(api_job *j, const char *name)
{
    hpc_tool_options o = j->a->o.tool;
    hpc_buf out = {0};
    int rc;
    o.seconds = SECONDS;
    o.stop = &j->cancel;
    if (!o.program) return hpc_fail(HPC_E_UNSUPPORTED, "this server has no %s", name);
    TRY(hpc_tool_run(&out, &o, name, j->json));
    api_send_json(j->r, &out);
out:
    hpc_buf_release(&out);
    return rc;
}

int api_pragma(api_job *j)
{
    return run_tool(j, "pragma");
}

int api_perf(api_job *j)
{
    return run_tool(j, "perf_predict");
}
