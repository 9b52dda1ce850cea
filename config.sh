#!/bin/sh
# config.sh: what hpccoder needs from the machine: the Debian packages by name, and a probe for
# each library.
#
#   config.sh DIR                compile and link a probe for each library, write DIR/config.h
#                                (macros that are always 0 or 1, and versions) and DIR/config.mk
#   config.sh --none DIR         the same for a machine of which nothing is known
#   config.sh --install GROUP... install the missing packages of build, peer, check, lint, docs, oracle, fortran
#
# It does not choose compiler flags (the Makefile does) and asks nothing. CC names the compiler;
# CUDA=auto|0|1 says whether CUDA is wanted: an unmet 1 is an error.
set -u

VERSION=0.1.0
CC=${CC:-gcc}
CUDA=${CUDA:-auto}

# ---- packages, by what they are needed for; the one list of them ----
packages_of() {
    case $1 in
    build) echo gcc g++ make libc6-dev libjansson-dev libgit2-dev libsqlite3-dev libzstd-dev \
        libpcre2-dev libutf8proc-dev libxxhash-dev libsentencepiece-dev libclang-19-dev libmicrohttpd-dev \
        gnuplot-nox fonts-dejavu-core bubblewrap libopenmpi-dev openmpi-bin ;;
    peer) echo libdnnl-dev libopenblas-dev ;; # only beside our own products in `bench op`
    check) echo libcmocka-dev git valgrind zstd python3 cmark-gfm curl ;;
    lint) echo git clang libclang-rt-14-dev clang-format-14 clang-tidy-14 binutils gcc-aarch64-linux-gnu \
        libc6-dev-arm64-cross ;;
    docs) echo cmark-gfm python3 git curl ;; # the rendered documentation and its check
    oracle) echo python3 clang libomp-dev ;; # of tests/pragma/oracle.py
    fortran) echo libflang-19-dev llvm-19-dev gfortran ;; # 1.3 GB: `pragma` for Fortran, and its tests
    *) die "unknown group of packages '$1': use build, peer, check, lint, docs, oracle or fortran" ;;
    esac
}

# ---- libraries: name, need, minimum version, packages ----
# Those of CUDA and NCCL are in NVIDIA's CUDA repository. Debian 12 has nvidia-cuda-toolkit 11.8 in
# non-free, which is too old.
libraries() {
    cat <<'END'
jansson   required  2.13   libjansson-dev
libgit2   required  1.1.0  libgit2-dev
sqlite3   required  3.34.0 libsqlite3-dev
zstd      required  1.4.8  libzstd-dev
pcre2     required  10.36  libpcre2-dev
utf8proc  required  2.5.0  libutf8proc-dev
xxhash    required  0.8.0  libxxhash-dev
spm       optional  0.1.96 libsentencepiece-dev
clang     optional  19     libclang-19-dev
flang     optional  19     libflang-19-dev,llvm-19-dev
mpi       optional  3.0    libopenmpi-dev
cmocka    optional  1.1.5  libcmocka-dev
dnnl      optional  2.6.0  libdnnl-dev
openblas  optional  0.3.20 libopenblas-dev
cuda      asked     13.0   cuda-nvcc-13-0 cuda-cudart-dev-13-0 libcublas-dev-13-0
nccl      optional  2.18   libnccl-dev
microhttpd optional 0.9.71 libmicrohttpd-dev
END
}

# The words of a text that match a pattern as a whole.
words_of() { echo "$1" | tr ' ' '\n' | grep -xE -e "$2" | tr '\n' ' ' | sed 's/ $//'; }

# What to include, a text that the preprocessor turns into the version, a call that must link.
# A library whose headers carry no version names a function that its oldest good version has.
probe_of() {
    flags= version= language='-std=c11'
    case $1 in
    jansson)
        headers='jansson.h' version='JANSSON_VERSION' libs=-ljansson
        call='return jansson_version_cmp(2, 13, 0) < 0;'
        ;;
    libgit2)
        headers='git2.h' version='LIBGIT2_VERSION' libs=-lgit2
        call='int a, b, c; return git_libgit2_version(&a, &b, &c);'
        ;;
    sqlite3)
        headers='sqlite3.h' version='SQLITE_VERSION' libs=-lsqlite3
        call='return sqlite3_libversion_number() == 0;'
        ;;
    zstd)
        headers='zstd.h' version='ZSTD_VERSION_MAJOR.ZSTD_VERSION_MINOR.ZSTD_VERSION_RELEASE'
        libs=-lzstd call='return ZSTD_versionNumber() == 0;'
        ;;
    pcre2)
        flags='-DPCRE2_CODE_UNIT_WIDTH=8' headers='pcre2.h' version='PCRE2_MAJOR.PCRE2_MINOR'
        libs=-lpcre2-8 call='int n; return pcre2_config(PCRE2_CONFIG_JIT, &n) < 0;'
        ;;
    utf8proc)
        headers='utf8proc.h' libs=-lutf8proc
        version='UTF8PROC_VERSION_MAJOR.UTF8PROC_VERSION_MINOR.UTF8PROC_VERSION_PATCH'
        call='return utf8proc_version()[0] == 0;'
        ;;
    xxhash)
        headers='xxhash.h' libs=
        version='XXH_VERSION_MAJOR.XXH_VERSION_MINOR.XXH_VERSION_RELEASE'
        call='return XXH3_64bits("", 0) == 0;' flags='-DXXH_INLINE_ALL'
        ;;
    spm) # C++, in a shared object of its own
        headers='sentencepiece_trainer.h' libs='-lsentencepiece -lsentencepiece_train'
        call='return sentencepiece::SentencePieceTrainer::Train("").ok();' language='-x c++ -std=c++17'
        ;;
    clang) # libclang, in a shared object of its own; its headers tell no version of LLVM
        home=${LLVM_HOME:-/usr/lib/llvm-19}
        flags=-I$home/include headers='clang-c/Index.h' libs="-L$home/lib -lclang"
        call='CXIndexOptions o = {sizeof o}; o.StorePreamblesInMemory = 1;
            return clang_createIndexWithOptions(&o) == 0;'
        ;;
    flang) # C++, in a program of its own; the packages libflang-19-dev and llvm-19-dev
        home=${LLVM_HOME:-/usr/lib/llvm-19}
        flags="-fno-rtti -DFLANG_LITTLE_ENDIAN=1 -DHPC_FLANG_MODULES=$home/include/flang -isystem $home/include"
        headers='flang/Common/idioms.h' language='-x c++ -std=c++17'
        libs="-L$home/lib -lFortranSemantics -lFortranParser -lFortranEvaluate -lFortranDecimal -lFortranCommon -lLLVM-19"
        call='Fortran::common::die("%s", ""); return 0;'
        ;;
    mpi) # in a shared object of its own; CC stays what it is, so flags alone are asked for
        shown=$(${MPICC:-mpicc} -show 2>/dev/null || pkg-config --cflags --libs ompi-c 2>/dev/null)
        flags=$(words_of "$shown" '-[ID].*' | sed 's/-I/-isystem /g') headers='mpi.h'
        libs=$(words_of "$shown" '-[Ll].*|-Wl,.*') version='MPI_VERSION.MPI_SUBVERSION'
        call='int n; return MPI_Init_thread(0, 0, MPI_THREAD_SERIALIZED, &n);'
        ;;
    cmocka)
        headers='stdarg.h stddef.h stdint.h setjmp.h cmocka.h' libs=-lcmocka
        call='cmocka_set_test_filter("*"); return 0;'
        ;;
    dnnl)
        headers='dnnl.h dnnl_version.h' libs=-ldnnl
        version='DNNL_VERSION_MAJOR.DNNL_VERSION_MINOR.DNNL_VERSION_PATCH'
        call='return dnnl_version() == 0;'
        ;;
    openblas)
        headers='openblas_config.h cblas.h' version='OPENBLAS_VERSION' libs=-lopenblas
        call='openblas_set_num_threads(1); return 0;'
        ;;
    cuda)
        home=${CUDA_HOME:-/usr/local/cuda}
        flags=-I$home/include headers='cuda_runtime_api.h' version='CUDART_VERSION'
        libs="-L$home/lib64 -lcudart_static -lpthread -lrt -ldl"
        call='int n; return cudaGetDeviceCount(&n) == cudaErrorInvalidValue;'
        ;;
    nccl) # with CUDA, in a shared object of its own
        home=${CUDA_HOME:-/usr/local/cuda}
        flags="-isystem $home/include" headers='cuda_runtime_api.h nccl.h'
        version='NCCL_MAJOR.NCCL_MINOR.NCCL_PATCH'
        libs="-L$home/lib64 -Wl,-rpath,$home/lib64 -lnccl -lcudart"
        call='int n; return ncclGetVersion(&n) != ncclSuccess;'
        ;;
    microhttpd) # in a shared object of its own; the version is a number of hexadecimal digits
        headers='microhttpd.h' libs=-lmicrohttpd
        call='_Static_assert(MHD_VERSION >= 0x00097100, "too old");
            return MHD_is_feature_supported(MHD_FEATURE_EPOLL) == MHD_NO;'
        ;;
    esac
}

die() {
    echo "config.sh: $*" >&2
    exit 1
}

# ---- probing ----
probe_source() {
    for header in $headers; do echo "#include <$header>"; done
    echo "int main(void) { $call }"
}

# "2.14" from whatever the macro expands to: "2.14", 2 . 6 . 3, " OpenBLAS 0.3.21 ", 13000.
version_found() {
    [ -n "$version" ] || return 0
    {
        for header in $headers; do echo "#include <$header>"; done
        echo "HPC_VERSION_IS $(echo "$version" | sed 's/\./ . /g')"
    } >"$probe.c"
    $CC $flags -E -P "$probe.c" 2>/dev/null | sed -n 's/.*HPC_VERSION_IS//p' | tr -dc '0-9.\n' |
        sed 's/^\([0-9]*\)\([0-9]\)\([0-9]\)0$/\1.\3/'
}

at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

# Sets have (0 or 1), found (a version or nothing) and why (when have is 0).
probe_library() { # name minimum
    have=0 found= why=
    probe_of "$1"
    probe_source >"$probe.c"
    driver=$CC
    [ "$language" = -std=c11 ] || driver=$(echo "$CC" | sed 's/gcc$/g++/; s/clang$/clang++/')
    if ! $driver $language -D_GNU_SOURCE $flags "$probe.c" -x none $libs -o "$probe.out" \
        2>"$probe.log"; then
        why="$CC: $(grep -m 1 -E 'error:|cannot find|undefined' "$probe.log" | sed 's/.*error: //')"
        return
    fi
    found=$(version_found)
    if [ -n "$found" ] && ! at_least "$found" "$2"; then
        why="version $found is older than $2"
        return
    fi
    if [ "$1" = cuda ] && ! "$home/bin/nvcc" --version >"$probe.log" 2>&1; then
        why="no compiler $home/bin/nvcc"
        return
    fi
    have=1
}

configure() { # directory; known=0: nothing is looked for
    dir=$1
    mkdir -p "$dir" || die "cannot make $dir"
    probe=$dir/probe.$$
    trap 'rm -f "$probe".* "$dir"/config.*.new' EXIT
    [ "$known" = 0 ] || command -v ${CC%% *} >/dev/null ||
        die "no compiler '$CC' (\`make deps\` installs gcc; or say CC=...)"
    case $CUDA in auto | 0 | 1) ;; *) die "CUDA is '$CUDA': use auto, 0 or 1" ;; esac
    {
        echo "/* Written by config.sh. Every HPC_HAVE_ macro is 0 or 1: use #if, never #ifdef. */"
        echo "#ifndef HPC_CONFIG_H"
        echo "#define HPC_CONFIG_H"
        echo "#define HPC_VERSION \"$VERSION\""
    } >"$dir/config.h.new"
    printf 'CONFIG_CUDA := %s\nLIBS_peer :=\n' "$CUDA" >"$dir/config.mk.new"
    libraries >"$probe.table"
    while read -r name need minimum package; do
        configure_one
    done <"$probe.table"
    echo "#endif" >>"$dir/config.h.new"
    # config.h keeps its time when nothing has changed, so that nothing is rebuilt for it.
    cmp -s "$dir/config.h.new" "$dir/config.h" || mv "$dir/config.h.new" "$dir/config.h"
    mv "$dir/config.mk.new" "$dir/config.mk"
}

# libgit2 is opened at run time, under the name that the linker noted in the probe.
soname() {
    shared=libgit2.so
    [ "$have" = 0 ] ||
        shared=$(readelf -d "$probe.out" | sed -n 's/.*NEEDED.*\[\(libgit2[^]]*\)\].*/\1/p')
    [ -n "$shared" ] || die "libgit2 is needed as a shared library (package $package)"
    echo "#define HPC_SONAME_LIBGIT2 \"$shared\"" >>"$dir/config.h.new"
}

# Where the packages of a library come from.
source_of() {
    case $1 in
    cuda | nccl) echo "install $package from NVIDIA's CUDA repository, or set CUDA_HOME;" \
        "nvidia-cuda-toolkit of Debian 12 is 11.8" ;;
    *) echo "package $package; \`make deps\` installs what every build needs" ;;
    esac
}

configure_one() {
    have=0 found= why='not looked for'
    if [ "$known" = 1 ] && ! { [ "$CUDA" = 0 ] && { [ "$name" = cuda ] || [ "$name" = nccl ]; }; }; then
        probe_library "$name" "$minimum"
        [ "$name$CUDA" != cuda1 ] || need=required
        [ "$have" = 1 ] || [ "$need" != required ] || die "$name $minimum or newer is needed" \
            "($(source_of "$name")): $why"
    fi
    upper=$(echo "$name" | tr '[:lower:]' '[:upper:]')
    echo "#define HPC_HAVE_$upper $have" >>"$dir/config.h.new"
    echo "#define HPC_VERSION_$upper \"$found\"" >>"$dir/config.h.new"
    echo "HAVE_$upper := $have" >>"$dir/config.mk.new"
    [ "$name" != libgit2 ] || soname
    if [ "$have" = 1 ]; then
        case $name in
        dnnl | openblas) echo "LIBS_peer += $libs" >>"$dir/config.mk.new" ;;
        cuda) echo "CUDA_HOME_FOUND := $home" >>"$dir/config.mk.new" ;;
        spm) echo "LIBS_spm := $libs -lstdc++" >>"$dir/config.mk.new" ;;
        clang | flang | mpi | nccl | microhttpd)
            printf 'LIBS_%s := %s\nFLAGS_%s := %s\n' "$name" "$libs" "$name" "$flags" >>"$dir/config.mk.new"
            ;;
        esac
        printf '  %-10s %s\n' "$name" "${found:-yes}"
    else
        printf '  %-10s no: %s\n' "$name" "$why"
    fi
}

# ---- installing ----
missing_of() { # packages
    for package in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            echo "$package"
    done
}

apt() {
    set -- env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
        -o Dpkg::Use-Pty=0 "$@"
    if [ "$(id -u)" = 0 ]; then
        "$@" </dev/null
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@" </dev/null
    fi
}

install_packages() { # groups
    wanted= extra=
    for group in "$@"; do
        names=$(packages_of "$group") || exit 1
        if [ "$group" = peer ]; then extra="$extra $names"; else wanted="$wanted $names"; fi
    done
    if ! command -v dpkg-query >/dev/null; then
        echo "config.sh: not a Debian machine; what Debian calls$wanted$extra must be there" >&2
        return 0
    fi
    wanted=$(missing_of $wanted) extra=$(missing_of $extra)
    [ -n "$wanted$extra" ] || return 0
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        [ -n "$wanted" ] || return 0
        die "installing packages needs root or sudo; ask an administrator to run:" \
            "apt-get install" $wanted $extra
    fi
    echo "installing:" $wanted $extra
    apt update || die "apt-get update failed; still missing:" $wanted $extra
    [ -z "$wanted" ] || apt install --no-install-recommends $wanted ||
        die "apt-get install failed; still missing:" $(missing_of $wanted)
    # Not every architecture has the peers, and nothing but a comparison needs them.
    [ -z "$extra" ] || apt install --no-install-recommends $extra ||
        echo "config.sh: going on without:" $(missing_of $extra) >&2
}

known=1
case ${1:-} in
--install)
    shift
    install_packages "$@"
    ;;
--none)
    known=0
    configure "${2:?directory}"
    ;;
-* | '') die "usage: config.sh [--none] DIR | --install build|peer|check|lint ..." ;;
*) configure "$1" ;;
esac
