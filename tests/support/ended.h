/*
 * ended.h: a command that is ended at any moment and run again makes what it makes undisturbed.
 *
 * words: of a command that goes on by itself, as for hpc_test_command_in; `--out FOLDER` is added.
 * The folders are "whole", undisturbed, and "part", both in `root`; both are there afterwards.
 */
#ifndef HPC_TESTS_SUPPORT_ENDED_H
#define HPC_TESTS_SUPPORT_ENDED_H

/* By SIGKILL and by SIGTERM, at moments spread over a run. */
void hpc_test_end_by_signals(const char *root, const char *words);
/* With files of so many bytes at most, n times; then `check`, unless NULL, is run by the shell in
 * `root`. */
void hpc_test_end_by_full_disk(const char *root, const char *words, const long *bytes, int n,
                               const char *check);

#endif
