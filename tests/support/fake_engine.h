/*
 * fake_engine.h: an engine for tests of the scheduler. Its tokens depend on the prompt alone; its
 * clock advances by a fixed cost for each step and each prompt token; the test opens a gate for
 * each step. It writes down what each step computed.
 */
#ifndef HPC_TEST_FAKE_ENGINE_H
#define HPC_TEST_FAKE_ENGINE_H

#include <pthread.h>

#include "infer/serve/scheduler.h"

enum { FAKE_REQUESTS = 32, FAKE_STEPS = 4096, FAKE_PROMPT = 4096, FAKE_VOCAB = 1000 };

typedef struct fake_request {
    hpc_request r;
    int64_t id, done, made;
    int32_t text[FAKE_PROMPT];
    bool begun, cancelled;
} fake_request;

typedef struct fake_step {
    int64_t prompt, made; /* tokens of prompts, tokens that were made */
    int64_t limit;
    int32_t first; /* the first token of the prompt that was computed first; -1: none */
} fake_step;

typedef struct fake_engine {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t permits; /* steps that may run; -1: any number */
    int64_t step_ns, token_ns, clock_ns;
    int open_error;              /* 0: opens */
    int step_error;              /* of the next step */
    int opened, closed, threads; /* threads: of the last opening */
    int cores;
    int32_t vocab; /* tokens are below; FAKE_VOCAB */
    bool waits;    /* the engine thread is at the gate */
    bool is_open;
    fake_request list[FAKE_REQUESTS];
    int n;
    int64_t next_id;
    fake_step step[FAKE_STEPS];
    int steps;
    /* The KV cache: `known` tokens of the prompt that begins with known_first. */
    int32_t known_first;
    int64_t known, import_ns;
    int imports, import_step[16]; /* steps before each import */
} fake_engine;

/* A step takes 10 ms, a prompt token 1 ms; steps wait for permits. */
void fake_init(fake_engine *f);
hpc_scheduler_backend fake_backend(fake_engine *f);
/* The time that steps have taken. */
int64_t fake_now(void *user);
/* Lets so many more steps run; negative: any number. */
void fake_permit(fake_engine *f, int64_t steps);
/* Waits until the engine thread has used all permits and is at the gate of the next step. */
void fake_await_gate(fake_engine *f);
/* Both. */
void fake_steps(fake_engine *f, int64_t steps);
/* Token k of the answer to a prompt that begins with `first`. */
int32_t fake_token(int32_t first, int64_t k);

#endif
