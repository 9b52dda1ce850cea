/*
 * sample.h: training text for a tokenizer, from files and from the train splits of corpora.
 */
#ifndef HPC_CORPUS_SAMPLE_H
#define HPC_CORPUS_SAMPLE_H

#include "corpus/corpus.h"

/* The caller sets path, paths_n, bytes and seed, which the sample borrows, and zeroes the rest. */
typedef struct hpc_text_sample {
    char **path; /* files, or folders of corpora */
    int paths_n;
    int64_t bytes, seed;  /* bytes: to use at most, about; 0: all */
    int64_t total;        /* bytes of all files */
    int64_t used, used_n; /* bytes and files that hpc_text_sample_next has returned */
    int64_t position;     /* internal from here on: bytes read */
    int at;               /* the path being read */
    hpc_corpus *corpus;   /* of that path; NULL: it is a file */
    hpc_buf file, text;   /* a file, and the blocks of it that are used */
} hpc_text_sample;

/* Fills t->total; call it first. HPC_E_ARG: a folder that is not a corpus. */
int hpc_text_sample_measure(hpc_text_sample *t);
/* The selected text of the next file, valid until the next call: 1, or 0 after the last file.
 * user: an hpc_text_sample. */
int hpc_text_sample_next(const char **text, size_t *n, void *user);
void hpc_text_sample_release(hpc_text_sample *t);

#endif
