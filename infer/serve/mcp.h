/*
 * Model Context Protocol, revisions 2025-06-18 and 2025-11-25, over two file descriptors: one JSON
 * message per line. It offers the tools of tool.h, one call at a time.
 */
#ifndef HPC_SERVE_MCP_H
#define HPC_SERVE_MCP_H

#include "infer/serve/tool.h"

typedef struct hpc_mcp_options {
    int in, out;
    const char *version;
    hpc_tool_options tool;
} hpc_mcp_options;

/* Serves until the end of input. */
int hpc_mcp_serve(const hpc_mcp_options *o);

#endif
