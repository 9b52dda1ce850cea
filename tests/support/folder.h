/*
 * folder.h: a temporary folder for one test.
 */
#ifndef HPC_TESTS_SUPPORT_FOLDER_H
#define HPC_TESTS_SUPPORT_FOLDER_H

typedef struct hpc_test_folder {
    char root[256]; /* under TMPDIR or /tmp */
} hpc_test_folder;

/* cmocka setup and teardown: *state is a hpc_test_folder. They also clear the error record and
 * disarm faults. */
int hpc_test_folder_setup(void **state);
int hpc_test_folder_teardown(void **state);
/* Writes "ROOT/NAME" to out, of PATH_MAX chars; returns out. */
char *hpc_test_path(char *out, const hpc_test_folder *f, const char *name);
int hpc_test_entries(const char *folder); /* number of entries */

#endif
