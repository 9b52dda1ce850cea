/*
 * Names of functions, types and macros that stand for events.
 *
 * They are found by token hash. Names that a program defines itself are not in the list and count
 * as calls.
 */
#include <string.h>

#include "infer/perf/scan.h"

enum {
    NOTHING = HPC_PERF_EVENTS,
    CALLED = PERF_WORD_CALLED,
    MEMBER = PERF_WORD_CALLED | PERF_WORD_MEMBER,
    ALONE = PERF_WORD_ALONE,
    TYPE = PERF_WORD_TYPE | PERF_WORD_CPP,
    KEYWORD = PERF_WORD_KEYWORD,
    SCALAR = PERF_WORD_ALONE | PERF_WORD_SCALAR,
    FORTRAN = PERF_WORD_FORTRAN
};

typedef struct list {
    uint8_t kind;
    uint8_t how;
    const char *words; /* blanks between them */
} list;

static const list lists[] = {
    {HPC_PERF_ALLOCATE, CALLED,
     "malloc calloc realloc aligned_alloc posix_memalign memalign strdup alloca _mm_malloc mmap "
     "malloc_shared malloc_device malloc_host cudaMalloc cudaMallocManaged cudaMallocHost "
     "hipMalloc hipMallocManaged make_unique "
     "make_shared allocate_shared make_pair_vector kokkos_malloc kmalloc xmalloc omp_target_alloc "
     "fftw_malloc numa_alloc umalloc to_string substr stringstream ostringstream MPI_Alloc_mem"},
    {HPC_PERF_ALLOCATE, MEMBER, "resize reserve allocate assign shrink_to_fit"},
    {HPC_PERF_ALLOCATE, ALONE | PERF_WORD_CPP, "new"},
    {HPC_PERF_ALLOCATE, CALLED | FORTRAN, "allocate"},
    {HPC_PERF_ALLOCATE, TYPE,
     "vector string map set unordered_map unordered_set multimap multiset list deque valarray "
     "wstring basic_string ostringstream stringstream istringstream queue stack priority_queue "
     "function any MatrixXd VectorXd MatrixXf VectorXf forward_list"},
    {HPC_PERF_FREE, CALLED,
     "free cudaFree hipFree _mm_free munmap fftw_free kokkos_free omp_target_free"},
    {HPC_PERF_FREE, ALONE | PERF_WORD_CPP, "delete"},
    {HPC_PERF_FREE, CALLED | FORTRAN, "deallocate"},
    {HPC_PERF_COPY, CALLED,
     "memcpy memmove memset bcopy strcpy strncpy strcat strncat copy copy_n fill fill_n "
     "cudaMemcpy cudaMemcpyAsync cudaMemset hipMemcpy hipMemcpyAsync hipMemset deep_copy "
     "copy_backward uninitialized_copy swap_ranges reshape transpose"},
    {HPC_PERF_IO, CALLED,
     "printf fprintf sprintf snprintf vprintf vfprintf puts fputs putchar fputc putc fopen fclose "
     "fread fwrite fflush fseek fscanf scanf sscanf fgets getline open close read write lseek "
     "fsync perror PetscPrintf PetscFPrintf MPI_File_write MPI_File_read MPI_File_write_all "
     "MPI_File_read_all system getenv"},
    {HPC_PERF_IO, ALONE | PERF_WORD_CPP, "cout cerr clog endl ofstream ifstream fstream flush"},
    {HPC_PERF_IO, ALONE | FORTRAN, "print"},
    {HPC_PERF_IO, CALLED | FORTRAN, "inquire backspace rewind"},
    {HPC_PERF_LOCK, CALLED,
     "pthread_mutex_lock pthread_mutex_unlock pthread_rwlock_rdlock pthread_rwlock_wrlock "
     "pthread_spin_lock omp_set_lock omp_unset_lock omp_set_nest_lock sem_wait sem_post "
     "pthread_cond_wait pthread_cond_signal MPI_Win_lock MPI_Win_unlock mtx_lock call_once"},
    {HPC_PERF_LOCK, ALONE | PERF_WORD_CPP,
     "lock_guard unique_lock scoped_lock shared_lock condition_variable"},
    {HPC_PERF_LOCK, MEMBER, "lock unlock try_lock"},
    {HPC_PERF_ATOMIC, CALLED,
     "atomicAdd atomicSub atomicMax atomicMin atomicExch atomicCAS atomicInc atomicDec atomic_add "
     "atomic_fetch_add atomic_inc atomic_cmpxchg __sync_fetch_and_add __sync_add_and_fetch "
     "__sync_bool_compare_and_swap __sync_val_compare_and_swap __sync_synchronize "
     "__atomic_fetch_add __atomic_add_fetch __atomic_load_n __atomic_store_n "
     "__atomic_compare_exchange_n atomic_compare_exchange_strong atomic_load atomic_store "
     "atomic_thread_fence atomic_increment"},
    {HPC_PERF_ATOMIC, MEMBER,
     "fetch_add fetch_sub compare_exchange_weak compare_exchange_strong fetch_or fetch_and"},
    {HPC_PERF_ATOMIC, ALONE | PERF_WORD_CPP, "atomic atomic_ref atomic_int"},
    {HPC_PERF_MATH, CALLED,
     "pow powf powl exp expf expl exp2 expm1 log logf logl log2 log10 log1p sqrt sqrtf sqrtl cbrt "
     "rsqrt sin cos tan sinf cosf tanf asin acos atan atan2 atanf sinh cosh tanh tanhf erf erfc "
     "tgamma lgamma fmod fmodf remainder hypot sincos ldexp frexp rand drand48 random "
     "__expf __logf __powf"},
    {HPC_PERF_MATH, CALLED | FORTRAN, "dsqrt dexp dlog alog dsin dcos gamma norm2 random_number"},
    {HPC_PERF_INDIRECT, ALONE | PERF_WORD_CPP,
     "virtual dynamic_cast typeid dynamic_pointer_cast any_cast"},
    {HPC_PERF_INSERT, MEMBER,
     "push_back emplace_back insert emplace push_front emplace_front append push enqueue "
     "insert_or_assign try_emplace"},
    {HPC_PERF_LOOKUP, MEMBER, "at count contains lower_bound upper_bound equal_range"},
    {HPC_PERF_LOOKUP, CALLED, "bsearch binary_search lower_bound upper_bound hsearch"},
    {HPC_PERF_SCAN, CALLED,
     "strlen strcmp strncmp strstr strchr strrchr memchr memcmp find_if find_if_not count_if "
     "accumulate max_element min_element any_of all_of none_of remove_if unique strtok wcslen"},
    {HPC_PERF_SCAN, MEMBER, "find erase find_first_of rfind remove index_of"},
    {HPC_PERF_SCAN, CALLED | FORTRAN,
     "maxval minval sum product count matmul dot_product maxloc minloc any all trim len_trim index "
     "pack"},
    {HPC_PERF_SORT, CALLED,
     "sort qsort stable_sort partial_sort nth_element heapsort mergesort sort_by_key qsort_r "
     "make_heap sort_heap hypre_qsort0 hypre_BigQsort0"},
    {HPC_PERF_SORT, MEMBER, "sort"},
    {HPC_PERF_SYNCHRONISE, CALLED,
     "cudaDeviceSynchronize cudaStreamSynchronize cudaEventSynchronize hipDeviceSynchronize "
     "hipStreamSynchronize __syncthreads __syncwarp pthread_barrier_wait pthread_join fence "
     "syncthreads cudaThreadSynchronize work_group_barrier barrier arrive_and_wait"},
    {HPC_PERF_SYNCHRONISE, MEMBER, "join"},
    {HPC_PERF_LAUNCH, CALLED,
     "parallel_for parallel_reduce parallel_scan forall ParallelFor cudaLaunchKernel "
     "hipLaunchKernelGGL launch pthread_create async single_task enqueueNDRangeKernel "
     "clEnqueueNDRangeKernel"},
    {HPC_PERF_WAIT, CALLED, "sleep usleep nanosleep sleep_for sleep_until sched_yield poll select"},
    {HPC_PERF_THROW, ALONE | PERF_WORD_CPP, "throw"},
    {HPC_PERF_PADDING, ALONE, "alignas _Alignas aligned __align__ assume_aligned"},
    {HPC_PERF_DOUBLE, SCALAR, "double real64 float64_t double2 double4 cuDoubleComplex"},
    {HPC_PERF_SINGLE, SCALAR, "float real32 float2 float4 float32_t"},
    {HPC_PERF_HALF, SCALAR, "half __half _Float16 __fp16 bfloat16 __nv_bfloat16 half2 float16_t"},
    {HPC_PERF_WIDE, SCALAR,
     "long int64_t uint64_t size_t ssize_t ptrdiff_t intptr_t uintptr_t int64 intmax_t longlong "
     "HYPRE_BigInt off_t"},
    {HPC_PERF_NARROW, SCALAR, "short char int8_t uint8_t int16_t uint16_t bool _Bool"},
    {HPC_PERF_INTEGER, SCALAR, "int int32_t uint32_t unsigned uint int32 integer"},
    {HPC_PERF_CONST, ALONE, "const constexpr consteval"},
    {HPC_PERF_CONST, ALONE | FORTRAN, "parameter"},
    {HPC_PERF_RESTRICT, ALONE, "restrict __restrict __restrict__ RESTRICT"},
    {HPC_PERF_RESTRICT, ALONE | FORTRAN, "contiguous"},
    {HPC_PERF_INLINE, ALONE,
     "inline __inline __inline__ always_inline __always_inline__ __forceinline __forceinline__ "
     "FORCE_INLINE AMREX_FORCE_INLINE KOKKOS_INLINE_FUNCTION KOKKOS_FORCEINLINE_FUNCTION"},
    {HPC_PERF_NOINLINE, ALONE, "noinline __noinline__ __noinline NOINLINE cold"},
    {HPC_PERF_VOLATILE, ALONE, "volatile"},
    {NOTHING, SCALAR,
     "void auto signed real complex logical character precision enum size_type value_type "
     "index_type difference_type Index Real Int HYPRE_Int HYPRE_Real HYPRE_Complex MPI_Comm "
     "cudaStream_t"},
    {NOTHING, KEYWORD,
     "if for while switch return sizeof catch defined decltype alignof typeof __typeof__ "
     "noexcept static_assert _Static_assert __attribute__ __declspec asm __asm__ operator case "
     "co_return co_await else do goto break continue template typename using namespace struct "
     "class union typedef extern static register mutable explicit friend public private protected "
     "this nullptr true false default static_cast reinterpret_cast const_cast assert "
     "elseif then endif enddo end where forall concurrent call use module subroutine function "
     "program contains implicit none intent in out inout dimension allocatable pointer target "
     "optional kind len type class only stop exit cycle"},
};

static void add(perf_word *slot, uint32_t hash, uint8_t kind, uint8_t how)
{
    uint32_t k = hash % PERF_WORD_SLOTS;
    while (slot[k].how != 0 && slot[k].hash != hash) k = (k + 1) % PERF_WORD_SLOTS;
    if (slot[k].how == 0) slot[k] = (perf_word){hash, kind, how};
}

void perf_words_init(perf_words *w)
{
    memset(w, 0, sizeof *w);
    for (int pass = 0; pass < 2; pass++) /* first what is of Fortran, for it goes first there */
        for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
            bool fortran = lists[l].how & FORTRAN;
            if (fortran != (pass == 0)) continue;
            for (const char *p = lists[l].words; *p;) {
                size_t n = strcspn(p, " ");
                uint32_t hash = hpc_token_hash(p, n);
                if (!fortran) add(w->c, hash, lists[l].kind, lists[l].how);
                bool cpp = lists[l].how & PERF_WORD_CPP;
                if (!cpp) add(w->fortran, hash, lists[l].kind, lists[l].how);
                p += n + strspn(p + n, " ");
            }
        }
}

perf_word perf_word_find(const perf_word *slot, uint32_t hash)
{
    uint32_t k = hash % PERF_WORD_SLOTS;
    while (slot[k].how != 0 && slot[k].hash != hash) k = (k + 1) % PERF_WORD_SLOTS;
    return slot[k];
}
