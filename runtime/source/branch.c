/*
 * branch.c: selects the branches of #if that a walk over tokens visits. Conditions are not
 * evaluated, except a plain 0.
 */
#include "runtime/source/priv.h"

static bool is_word(const hpc_tokens *t, const char *text, int64_t i, const char *word)
{
    return i < t->n && hpc_token_is(&t->item[i], text, word, strlen(word));
}

static bool begins(const hpc_tokens *t, const char *text, int64_t i, const char *word)
{
    size_t n = strlen(word);
    return i < t->n && t->item[i].kind == HPC_TOKEN_NAME && t->item[i].n >= n &&
           memcmp(text + t->item[i].at, word, n) == 0;
}

int hpc_branch_at(bool *skip, hpc_branches *b, const hpc_tokens *t, const char *text, int64_t i,
                  int64_t state)
{
    if (text[t->item[i].at] != '#') return HPC_OK;
    if (begins(t, text, i + 1, "if")) {
        bool never = is_word(t, text, i + 1, "if") && is_word(t, text, i + 2, "0") &&
                     i + 3 < t->n && t->item[i + 3].kind == HPC_TOKEN_END_DIRECTIVE;
        int rc = hpc_grow(&b->item, &b->cap, b->n + 1, sizeof *b->item);
        if (rc < 0) return rc;
        b->item[b->n++] = (hpc_branch){state, *skip, *skip || never, never};
        *skip = *skip || never;
        return HPC_OK;
    }
    if (b->n == 0) return HPC_OK;
    hpc_branch *top = &b->item[b->n - 1];
    if (begins(t, text, i + 1, "el") && !top->outer_skip) {
        top->skip = !top->unseen && (top->skip || state != top->state);
        top->unseen = false;
        *skip = top->skip;
    } else if (is_word(t, text, i + 1, "endif")) {
        *skip = top->outer_skip;
        b->n--;
    }
    return HPC_OK;
}
