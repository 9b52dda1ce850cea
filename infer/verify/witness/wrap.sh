# wrap.sh: calls the compiler $name behind this one in PATH with the flags of $mode. Calls without
# an input (--version, -print-...) and those that only read pass through as they are. What comes
# before sets name, mode and tools.
PATH=${PATH#*:}
input= links=1 fortran=
case $name in gfortran | f95 | f77) fortran=1 ;; esac
for a in "$@"; do
    case $a in
    -c | -S | -E | -M | -MM | -fsyntax-only | -shared) links= ;;
    -*) ;;
    *.[cCo] | *.cc | *.cpp | *.cxx | *.c++ | *.a | *.so | *.so.*) input=1 ;;
    *.[fF] | *.[fF][0-9][0-9] | *.for | *.FOR | *.ftn | *.FTN) input=1 ;;
    esac
done
[ "$input" ] && [ -z "$HPC_VERIFY_PLAIN" ] || exec "$name" "$@"
case $mode in
openmp) exec "$name" "$@" -fopenmp ;;
race)
    case $name in *++ | icpx) name=clang++ ;; *) name=clang ;; esac
    for a in "$@"; do
        shift
        case $a in
        -fsanitize=* | -O* | -g* | -Werror* | -flto* | -static* | -s | -pg | --coverage) ;;
        *) set -- "$@" "$a" ;;
        esac
    done
    exec "$name" "$@" -fopenmp -fsanitize=thread -g -O0 -w -Qunused-arguments
    ;;
esac
# The witness: serial, and the sanitizer's instrumentation without its library.
for a in "$@"; do
    shift
    case $a in
    -fopenmp* | -qopenmp* | -fiopenmp | -mp | -fsanitize=* | -O* | -g* | -Werror* | -pedantic* | \
        -flto* | -static* | -s | -pg | --coverage | -D_FORTIFY_SOURCE* | -ftree-parallelize* | \
        -std=f* | -fcheck* | -fbounds-check | -fomit-frame-pointer) ;;
    *) set -- "$@" "$a" ;;
    esac
done
set -- "$@" -g -O1 -w
if [ "$fortran" ]; then
    set -- "$@" -fno-inline -fno-omit-frame-pointer -fno-diagnostics-show-caret -I "$tools/lib"
else
    set -- "$@" -include "$tools/infer/verify/witness/witness.h" -fno-builtin-memcpy \
        -fno-builtin-memmove -fno-builtin-memset
fi
case $("$name" --version 2>&1) in
*clang* | *LLVM*) set -- "$@" -Xclang -fsanitize=thread -finline-hint-functions \
    -mllvm -tsan-instrument-read-before-write -Qunused-arguments ;;
*) set -- "$@" -fsanitize=thread -fno-inline-functions-called-once -L "$tools/lib" \
    -B "$tools/lib/" ;;
esac
[ -z "$links" ] || set -- "$@" -x none "$tools/lib/runtime.o" "$tools/lib/hooks.o" "$tools/lib/cost.o" \
    "$tools/lib/fortran.o" -rdynamic -ldl -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset
exec "$name" "$@"
