/*
 * branch.c: selects the branches of #if that a walk over tokens visits, and those that hold a
 * cursor. Conditions are not evaluated, except a plain 0.
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

/* ---- the branch that holds a cursor --------------------------------------------------------- */

typedef enum branch_word { OTHER, IF, ELSE, ENDIF } branch_word;

static branch_word word_at(const hpc_tokens *t, const char *text, int64_t i)
{
    if (t->item[i].kind != HPC_TOKEN_SENTINEL || text[t->item[i].at] != '#') return OTHER;
    if (begins(t, text, i + 1, "if")) return IF;
    if (begins(t, text, i + 1, "el")) return ELSE;
    return is_word(t, text, i + 1, "endif") ? ENDIF : OTHER;
}

/* The token after the directive that begins at token i. */
static int64_t directive_end(const hpc_tokens *t, int64_t i)
{
    while (i < t->n && t->item[i].kind != HPC_TOKEN_END_DIRECTIVE) i++;
    return i < t->n ? i + 1 : i;
}

typedef struct unfinished { /* an #if without its #endif */
    int64_t begin, branch;  /* tokens: its #if, and the directive of its last branch */
} unfinished;

int hpc_tokens_keep_last_branch(hpc_tokens *t, const char *text)
{
    unfinished *item = NULL;
    int64_t n = 0, cap = 0, kept = 0, i = 0;
    int rc = HPC_OK;
    for (int64_t k = 0; k < t->n; k++) {
        const branch_word word = word_at(t, text, k);
        if (word == IF) {
            TRY(hpc_grow(&item, &cap, n + 1, sizeof *item));
            item[n++] = (unfinished){k, k};
        } else if (word == ELSE && n > 0) {
            item[n - 1].branch = k;
        } else if (word == ENDIF && n > 0) {
            n--;
        }
    }
    for (int64_t u = 0; u < n; u++) {
        while (i < item[u].begin) t->item[kept++] = t->item[i++];
        i = directive_end(t, item[u].branch);
    }
    while (i < t->n) t->item[kept++] = t->item[i++];
    t->n = kept;
out:
    hpc_free(item);
    return rc;
}

void hpc_tokens_keep_first_branch(hpc_tokens *t, const char *text, size_t cursor)
{
    int64_t depth = 0, kept = 0;
    bool other = false; /* within another branch of an #if around the cursor */
    for (int64_t i = 0; i < t->n;) {
        const branch_word word = word_at(t, text, i);
        const bool around =
            depth == 0 && t->item[i].at >= cursor && (word == ELSE || word == ENDIF);
        if (around) {
            other = word == ELSE;
            i = directive_end(t, i);
            continue;
        }
        if (word == IF) depth++;
        if (word == ENDIF && depth > 0) depth--;
        if (!other) t->item[kept++] = t->item[i];
        i++;
    }
    t->n = kept;
}
