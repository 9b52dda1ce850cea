/*
 * ended.h: interrupts a command at many moments and runs it again; the result must equal that of
 * an uninterrupted run.
 *
 * words: a command that resumes, as for hpc_test_command_in; `--out FOLDER` is appended. The
 * folders "whole" (uninterrupted) and "part", both in `root`, remain.
 */
#ifndef HPC_TESTS_SUPPORT_ENDED_H
#define HPC_TESTS_SUPPORT_ENDED_H

/* Interrupts by SIGKILL and SIGTERM at moments spread over a run. */
void hpc_test_end_by_signals(const char *root, const char *words);
/* Interrupts n times by limits of the file size. Then the shell runs `check` in `root`, unless
 * NULL. */
void hpc_test_end_by_full_disk(const char *root, const char *words, const long *bytes, int n,
                               const char *check);

#endif
