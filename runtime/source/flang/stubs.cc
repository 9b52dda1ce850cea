/*
 * stubs.cc: names of MPI and netCDF for programs whose tree does not define their modules or
 * include files. Procedures have no interface, and no value is that of a library.
 */
#include "runtime/source/flang/priv.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

namespace hpc_flang {

namespace {

const char mpi_handles[]{
    "comm: comm_world comm_self comm_null / datatype: integer real double_precision logical "
    "character complex double_complex byte real4 real8 integer1 integer2 integer4 integer8 packed "
    "2integer 2real 2double_precision complex8 complex16 aint offset datatype_null / op: sum max "
    "min prod land lor lxor band bor bxor maxloc minloc replace op_null / request: request_null / "
    "group: group_null group_empty / info: info_null / win: win_null / file: file_null / message: "
    "message_null / errhandler: errors_return errors_are_fatal errhandler_null"};

const char mpi_numbers[]{
    "success any_source any_tag proc_null undefined root max_processor_name max_error_string "
    "thread_single thread_funneled thread_serialized thread_multiple order_fortran order_c "
    "mode_rdonly mode_wronly mode_rdwr mode_create mode_excl mode_append seek_set seek_cur "
    "lock_exclusive lock_shared comm_type_shared status_size source tag error tag_ub wtime_is_global "
    "ident congruent similar unequal err_other address_kind offset_kind count_kind integer_kind"};

const char netcdf_numbers[]{
    "noerr nowrite write clobber noclobber share 64bit_offset netcdf4 hdf5 classic_model fill "
    "nofill unlimited global byte char short int float double int64 string max_name max_var_dims "
    "mpiio chunked contiguous independent collective enotvar enotatt ebaddim eindefine fill_double "
    "fill_float fill_real fill_int"};

const char netcdf_functions[]{
    "open create close enddef redef def_dim def_var def_var_deflate inq inq_dimid inq_dim "
    "inquire_dimension inq_varid inquire_variable inquire inquire_attribute put_var get_var put_att "
    "get_att sync strerror var_par_access set_fill copy_att rename_dim rename_var inq_var_fill "
    "def_var_fill def_var_chunking inq_attname abort delete"};

std::vector<std::string> words_of(const std::string &text)
{
    std::vector<std::string> out;
    for (size_t at = 0; at < text.size();) {
        const size_t end{std::min(text.find(' ', at), text.size())};
        if (end > at) out.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

int value_of(const std::string &name, int next)
{
    const bool kind{name == "address_kind" || name == "offset_kind" || name == "count_kind"};
    return kind                      ? 8
           : name == "integer_kind"  ? 4
           : name == "status_size"   ? 6
           : name.find("max_") == 0  ? 256
           : name.find("any_") == 0  ? -next
           : name == "source"        ? 1
           : name == "tag"           ? 2
           : name == "error"         ? 3
                                     : next;
}

/* Lines that both source forms accept. */
void constant(std::string &out, const std::string &name, int value)
{
    out += "      integer " + name + "\n      parameter (" + name + " = " + std::to_string(value) +
           ")\n";
}

std::string mpi_constants(bool handles)
{
    std::string out;
    int next{0};
    for (const std::string &w : words_of(mpi_numbers)) constant(out, "mpi_" + w, value_of(w, next++));
    for (const std::string &w : words_of(handles ? mpi_handles : ""))
        if (w != "/" && w.back() != ':') constant(out, "mpi_" + w, next++);
    return out;
}

std::string mpi_common()
{
    return "      integer mpi_bottom, mpi_in_place, mpi_status_ignore(6)\n"
           "      integer mpi_statuses_ignore(6, 1), mpi_argv_null\n"
           "      common /mpistb/ mpi_bottom, mpi_in_place, mpi_argv_null\n"
           "      common /mpistc/ mpi_status_ignore, mpi_statuses_ignore\n"
           "      double precision mpi_wtime, mpi_wtick\n"
           "      external mpi_wtime, mpi_wtick\n";
}

/* Handles of mpi_f08 are types of their own. */
std::string mpi_types()
{
    std::string types, values, type;
    int next{0};
    for (const std::string &w : words_of(mpi_handles)) {
        if (w.back() == ':') {
            type = "mpi_" + w.substr(0, w.size() - 1);
            types += "type :: " + type + "\n integer :: mpi_val\nend type\n";
        } else if (w != "/") {
            values += "type(" + type + "), parameter :: mpi_" + w + " = " + type + "(" +
                      std::to_string(next++) + ")\n";
        }
    }
    return types +
           "type :: mpi_status\n integer :: mpi_source, mpi_tag, mpi_error\nend type\n" + values +
           "type(mpi_status) :: mpi_status_ignore, mpi_statuses_ignore(1)\n"
           "integer :: mpi_bottom, mpi_in_place\n"
           "double precision, external :: mpi_wtime, mpi_wtick\n";
}

std::string netcdf(const std::string &prefix)
{
    std::string out;
    int next{0};
    for (const std::string &w : words_of(netcdf_numbers))
        constant(out, prefix + w, value_of(w, next++));
    for (const std::string &w : words_of(netcdf_functions))
        out += "      integer " + prefix + w + "\n      external " + prefix + w + "\n";
    return out;
}

} // namespace

std::string stub_module(const std::string &name)
{
    const std::string begin{"module " + name + "\n      implicit none\n"}, end{"end module\n"};
    if (name == "mpi") return begin + mpi_constants(true) + mpi_common() + end;
    if (name == "mpi_f08") return begin + mpi_constants(false) + mpi_types() + end;
    if (name == "netcdf") return begin + netcdf("nf90_") + end;
    return "";
}

std::string stub_include(const std::string &name)
{
    if (name == "mpif.h") return mpi_constants(true) + mpi_common();
    if (name == "netcdf.inc") return netcdf("nf_");
    return "";
}

/* A pipe that holds the text: the process may not write files. Its descriptor is a short name. */
int stub_file(const std::string &text)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return -1;
    const bool written{write(ends[1], text.data(), text.size()) == (ssize_t)text.size()};
    close(ends[1]);
    if (written) return ends[0];
    close(ends[0]);
    return -1;
}

} // namespace hpc_flang
