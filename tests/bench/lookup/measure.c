/*
 * measure.c: benefit of speculative decoding by lookup: `measure MODEL TOKENIZER CASES TURNS`.
 *
 * CASES has prompts with their real continuations: lines "PROMPT_BYTES ANSWER_BYTES", each
 * followed by these bytes. First the continuations are forced: each next token is that of the
 * text, and a guess is right if it equals the text. Then the model continues greedily for as many
 * tokens. Both run alternately with and without guesses, and the tokens must be the same. Times
 * start at the first new token; the shortest of a case's turns counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/engine/engine.h"
#include "model/tokenizer.h"

enum { GUESS = 11, ANSWER = 256 };

typedef struct edit {
    int32_t *prompt, *answer;
    int64_t prompt_n, answer_n;
} edit;
typedef struct bench {
    hpc_tokenizer *tokenizer;
    hpc_tokenizer_scratch *scratch;
    hpc_engine *engine[2]; /* without, with guesses */
    edit *list;
    int64_t n, cap, words; /* words: of a set of tokens */
} bench;

typedef struct heard {
    const int32_t *forced; /* NULL: none */
    uint32_t *only;
    int32_t token[ANSWER];
    int64_t n, first_ns;
} heard;

/* ---- cases ----------------------------------------------------------------------------------- */

static int encode(int32_t **out, int64_t *n, bench *b, const char *text, size_t bytes)
{
    hpc_ids ids = {0};
    int rc = hpc_tokenizer_encode(&ids, b->tokenizer, b->scratch, text, bytes, HPC_ENCODE_INNER);
    *out = ids.id;
    *n = ids.n;
    return rc;
}

/* Of the prompt the last tokens that leave room for the answer. */
static int add(bench *b, const char *prompt, size_t prompt_bytes, size_t answer_bytes)
{
    const int64_t room = hpc_engine_config(b->engine[0])->positions;
    edit x = {0};
    int rc;
    TRY(encode(&x.prompt, &x.prompt_n, b, prompt, prompt_bytes));
    TRY(encode(&x.answer, &x.answer_n, b, prompt + prompt_bytes, answer_bytes));
    if (x.answer_n > ANSWER) x.answer_n = ANSWER;
    if (x.prompt_n + x.answer_n > room) {
        int64_t cut = x.prompt_n + x.answer_n - room;
        memmove(x.prompt, x.prompt + cut, (size_t)(x.prompt_n - cut) * sizeof *x.prompt);
        x.prompt_n -= cut;
    }
    TRY(hpc_grow(&b->list, &b->cap, b->n + 1, sizeof *b->list));
    b->list[b->n++] = x;
out:
    return rc;
}

static int read_cases(bench *b, const char *path)
{
    hpc_file_view v;
    int rc = hpc_file_open(&v, path);
    if (rc < 0) return rc;
    const char *at = (const char *)v.data, *end = at + v.bytes;
    while (at < end) {
        char *next;
        size_t prompt = strtoul(at, &next, 10), answer = strtoul(next, &next, 10);
        at = next + 1;
        if ((size_t)(end - at) < prompt + answer) TRY(hpc_fail(HPC_E_FORMAT, "%s: cut", path));
        TRY(add(b, at, prompt, answer));
        at += prompt + answer;
    }
out:
    hpc_file_close(&v);
    return rc;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static const uint32_t *next_of_text(void *user)
{
    heard *h = user;
    if (!h->forced) return NULL;
    if (h->n > 0) h->only[h->forced[h->n - 1] / 32] = 0;
    h->only[h->forced[h->n] / 32] = 1u << h->forced[h->n] % 32;
    return h->only;
}

static int hear(void *user, int32_t token, float logprob)
{
    heard *h = user;
    (void)logprob;
    if (h->n == 0) h->first_ns = hpc_clock_ns();
    h->token[h->n++] = token;
    return 0;
}

typedef struct sums {
    int64_t tokens, steps, guessed, right; /* after the first token of each */
    double seconds;
} sums;

static int run(sums *out, heard *h, hpc_engine *e, const edit *x)
{
    hpc_request r = {.token = x->prompt,
                     .n = x->prompt_n,
                     .most = x->answer_n,
                     .sampling = hpc_sampling_greedy(),
                     .token_made = hear,
                     .allowed = next_of_text,
                     .user = h};
    hpc_engine_counts before = hpc_engine_counts_of(e), after;
    int64_t id;
    bool busy = true;
    int rc = hpc_engine_submit(e, &r, &id);
    while (rc >= 0 && busy) {
        rc = hpc_engine_step(e, &busy);
        if (h->n <= 1) before = hpc_engine_counts_of(e); /* of the prompt */
    }
    if (rc < 0) return rc;
    after = hpc_engine_counts_of(e);
    out->seconds += (double)(hpc_clock_ns() - h->first_ns) * 1e-9;
    out->tokens += h->n - 1;
    out->steps += after.steps - before.steps;
    out->guessed += after.guessed - before.guessed;
    out->right += after.right - before.right;
    return HPC_OK;
}

/* One case without and with guesses. */
static int both(sums out[2], bench *b, const edit *x, bool forced)
{
    static heard h[2];
    uint32_t *only = hpc_alloc((size_t)b->words, sizeof *only);
    int rc = only ? HPC_OK : HPC_E_NOMEM;
    for (int k = 0; k < 2 && rc >= 0; k++) {
        memset(only, 0, (size_t)b->words * sizeof *only);
        h[k] = (heard){.forced = forced ? x->answer : NULL, .only = only};
        rc = run(&out[k], &h[k], b->engine[k], x);
    }
    hpc_free(only);
    if (rc >= 0 && (h[0].n != h[1].n || memcmp(h[0].token, h[1].token, sizeof h[0].token) != 0))
        return hpc_fail(HPC_E_STATE, "guesses have changed an answer");
    return rc;
}

/* Counts are the same in every turn. */
static void add_to(sums *out, const sums *one)
{
    out->tokens += one->tokens, out->steps += one->steps;
    out->guessed += one->guessed, out->right += one->right;
    out->seconds += one->seconds;
}

static int compare(bench *b, int64_t turns, bool forced)
{
    sums s[2] = {{0}};
    int64_t better = 0;
    int rc = HPC_OK;
    for (int64_t k = 0; k < b->n; k++) {
        sums best[2] = {{0}};
        for (int64_t turn = 0; turn < turns; turn++) {
            sums one[2] = {{0}};
            TRY(both(one, b, &b->list[k], forced));
            for (int g = 0; g < 2; g++)
                if (turn == 0 || one[g].seconds < best[g].seconds) best[g] = one[g];
        }
        better += best[0].seconds > best[1].seconds;
        for (int g = 0; g < 2; g++) add_to(&s[g], &best[g]);
    }
    printf("  %s: %lld cases, %lld tokens: %.0f tokens/s without, %.0f with: %.2f; %.2f tokens a "
           "step, %.0f %% of %lld guesses right, faster in %lld cases\n",
           forced ? "forced" : "free", (long long)b->n, (long long)s[1].tokens,
           (double)s[0].tokens / s[0].seconds, (double)s[1].tokens / s[1].seconds,
           s[0].seconds / s[1].seconds, (double)s[1].tokens / (double)s[1].steps,
           100 * (double)s[1].right / (double)(s[1].guessed > 0 ? s[1].guessed : 1),
           (long long)s[1].guessed, (long long)better);
    fflush(stdout);
out:
    return rc;
}

static int open_all(bench *b, char **argv)
{
    int rc;
    TRY(hpc_model_tokenizer(&b->tokenizer, argv[2]));
    TRY(hpc_tokenizer_scratch_create(&b->scratch, b->tokenizer));
    for (int k = 0; k < 2; k++) {
        const hpc_engine_options o = {.model = argv[1],
                                      .weights = HPC_DTYPE_N,
                                      .cache = HPC_BF16,
                                      .requests = 1,
                                      .guess = k * GUESS};
        TRY(hpc_engine_open(&b->engine[k], &o));
    }
    b->words = hpc_engine_config(b->engine[0])->vocab / 32 + 1;
    TRY(read_cases(b, argv[3]));
out:
    return rc;
}

int main(int argc, char **argv)
{
    bench b = {0};
    int rc = HPC_E_ARG;
    if (argc != 5) {
        fprintf(stderr, "measure MODEL TOKENIZER CASES TURNS\n");
        return 2;
    }
    TRY(open_all(&b, argv));
    TRY(compare(&b, atoll(argv[4]), true));
    TRY(compare(&b, atoll(argv[4]), false));
out:
    if (rc < 0) fprintf(stderr, "measure: %s\n", hpc_error_get()->text);
    for (int k = 0; k < 2; k++) hpc_engine_close(b.engine[k]);
    for (int64_t k = 0; k < b.n; k++) {
        hpc_free(b.list[k].prompt);
        hpc_free(b.list[k].answer);
    }
    hpc_free(b.list);
    hpc_tokenizer_scratch_free(b.scratch);
    hpc_tokenizer_close(b.tokenizer);
    return rc < 0;
}
