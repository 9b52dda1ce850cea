/* The chat template of a model, and prompts as its tokens: private to infer/serve/api_chat*.c. */
#ifndef HPC_SERVE_API_CHAT_PRIV_H
#define HPC_SERVE_API_CHAT_PRIV_H

#include "infer/serve/api_priv.h"
#include "infer/template/template.h"

typedef struct api_chat_template {
    const char *name;
    hpc_template *t; /* NULL: `error` states why */
    hpc_error error;
} api_chat_template;

typedef struct api_chat_control {
    const char *text;
    size_t n;
    int32_t id;
} api_chat_control;

struct api_chat {
    const hpc_tokenizer *tokenizer;
    const char *model;
    hpc_json *settings; /* of model/chat.h */
    hpc_error error;    /* why there are no settings; code HPC_OK: there are */
    api_chat_template *template;
    int64_t template_n;
    api_chat_control *control; /* control tokens by their first byte; longer ones first */
    int64_t control_n;
    int64_t first[257];         /* where those of a first byte begin */
    int32_t end[API_CHAT_ENDS]; /* tokens that end a turn */
    int64_t end_n;
};

/* Renders a conversation. messages, tools, more: of a request; more: further variables. */
typedef struct api_chat_ask {
    const hpc_json *messages, *tools, *more;
    bool prompt; /* add_generation_prompt */
} api_chat_ask;
int api_chat_render(hpc_template_output *out, const struct api_chat *c, const api_chat_ask *q);
/* Control tokens that the template spells get their ids. Those in text of the request are plain
 * text. Without such text the ids are those of the whole text. */
int api_chat_encode(hpc_ids *ids, const struct api_chat *c, hpc_tokenizer_scratch *scratch,
                    const hpc_template_output *text);

#endif
