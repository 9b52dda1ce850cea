/*
 * library_priv.h: libgit2, opened when a repository is, because a program that reads
 * none would start 2 ms later for it and its 15 libraries.
 */
#ifndef HPC_GIT_LIBRARY_PRIV_H
#define HPC_GIT_LIBRARY_PRIV_H

#include <stdbool.h>

#include <git2.h>
#include <git2/sys/odb_backend.h>

/* Its functions, without their "git_". */
typedef struct git_library {
    __typeof__(git_libgit2_init) *libgit2_init;
    __typeof__(git_libgit2_opts) *libgit2_opts;
    __typeof__(git_error_last) *error_last;
    __typeof__(git_repository_open_bare) *repository_open_bare;
    __typeof__(git_repository_free) *repository_free;
    __typeof__(git_repository_path) *repository_path;
    __typeof__(git_repository_commondir) *repository_commondir;
    __typeof__(git_config_open_ondisk) *config_open_ondisk;
    __typeof__(git_config_free) *config_free;
    __typeof__(git_config_iterator_new) *config_iterator_new;
    __typeof__(git_config_iterator_free) *config_iterator_free;
    __typeof__(git_config_next) *config_next;
    __typeof__(git_reference_iterator_new) *reference_iterator_new;
    __typeof__(git_reference_iterator_free) *reference_iterator_free;
    __typeof__(git_reference_next) *reference_next;
    __typeof__(git_reference_free) *reference_free;
    __typeof__(git_reference_name) *reference_name;
    __typeof__(git_reference_name_to_id) *reference_name_to_id;
    __typeof__(git_reference_target) *reference_target;
    __typeof__(git_reference_symbolic_target) *reference_symbolic_target;
    __typeof__(git_odb_new) *odb_new;
    __typeof__(git_odb_free) *odb_free;
    __typeof__(git_odb_refresh) *odb_refresh;
    __typeof__(git_odb_add_backend) *odb_add_backend;
    __typeof__(git_odb_backend_pack) *odb_backend_pack;
    __typeof__(git_odb_read) *odb_read;
    __typeof__(git_odb_read_header) *odb_read_header;
    __typeof__(git_odb_object_free) *odb_object_free;
    __typeof__(git_odb_object_data) *odb_object_data;
    __typeof__(git_odb_object_size) *odb_object_size;
    __typeof__(git_odb_object_type) *odb_object_type;
} git_library;

/* It stays in memory from then on. HPC_E_UNSUPPORTED: it is not on this machine. */
int git_library_open(git_library *out, const char *name);
/* The text of its last error, cleaned of line ends, in `out`; never empty. */
const char *git_reason(const git_library *l, char out[200]);
bool git_ran_out(const git_library *l); /* of memory, says its last error */

#endif
