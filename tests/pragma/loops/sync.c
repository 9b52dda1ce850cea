/*
 * sync.c: volatile objects, atomics, locks: what makes an access safe without making its order
 * right. Labels: README.md.
 */
#include <pthread.h>
#include <stdatomic.h>

void device_registers(int n, volatile unsigned *reg, const unsigned *restrict a)
{
    // loop device_registers: carried order accesses to volatile objects happen as written
    for (int i = 0; i < n; i++) {
        reg[i] = a[i];
    }
}

void device_port(int n, volatile unsigned *port, const unsigned *restrict a)
{
    // loop device_port: carried order
    for (int i = 0; i < n; i++) {
        *port = a[i];
    }
}

void plain_words(int n, unsigned *restrict w, const unsigned *restrict a)
{
    // loop plain_words: safe
    for (int i = 0; i < n; i++) {
        w[i] = a[i];
    }
}

unsigned polls(int n, const volatile unsigned *port)
{
    unsigned sum = 0;
    // loop polls: carried order each read of the port may see something else
    for (int i = 0; i < n; i++) {
        sum += *port;
    }
    return sum;
}

void volatile_scratch(int n, double *restrict b, const double *restrict a)
{
    volatile double t;
    // loop volatile_scratch: carried order
    for (int i = 0; i < n; i++) {
        t = a[i];
        b[i] = t + 1.0;
    }
}

void counts(int n, atomic_int *count, const double *restrict a)
{
    // loop counts: safe
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) atomic_fetch_add(count, 1);
    }
}

void counts_by_operator(int n, atomic_int *count, const double *restrict a)
{
    // loop counts_by_operator: safe
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) (*count)++;
    }
}

void counts_in_two_steps(int n, atomic_int *count, const double *restrict a)
{
    // loop counts_in_two_steps: carried +2 +2 a load and a store, each atomic, not both together
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) *count = *count + 1;
    }
}

void packs(int n, atomic_int *k, double *restrict b, const double *restrict a)
{
    // loop packs: carried order no race, but the places depend on who comes first
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) b[atomic_fetch_add(k, 1)] = a[i];
    }
}

void bins(int n, atomic_int *restrict bin, const unsigned char *restrict a)
{
    // loop bins: safe
    for (int i = 0; i < n; i++) {
        atomic_fetch_add(&bin[a[i]], 1);
    }
}

void bins_then_read(int n, atomic_int *restrict bin, int *restrict rank,
                    const unsigned char *restrict a)
{
    // loop bins_then_read: carried order the rank is how many came before
    for (int i = 0; i < n; i++) {
        rank[i] = atomic_fetch_add(&bin[a[i]], 1);
    }
}

void last_value(int n, atomic_int *last, const int *restrict a)
{
    // loop last_value: carried order the last store must win
    for (int i = 0; i < n; i++) {
        atomic_store(last, a[i]);
    }
}

void raises_flag(int n, atomic_int *flag, const double *restrict a)
{
    // loop raises_flag: safe
    for (int i = 0; i < n; i++) {
        if (a[i] < 0.0) atomic_store(flag, 1);
    }
}

void stops_by_flag(int n, atomic_int *flag, double *restrict b, const double *restrict a)
{
    // loop stops_by_flag: carried +3 +2
    for (int i = 0; i < n; i++) {
        if (atomic_load(flag)) continue;
        if (a[i] < 0.0) atomic_store(flag, 1);
        b[i] = a[i];
    }
}

void locked_sum(int n, pthread_mutex_t *lock, long *sum, const int *restrict a)
{
    // loop locked_sum: safe
    for (int i = 0; i < n; i++) {
        pthread_mutex_lock(lock);
        *sum += a[i];
        pthread_mutex_unlock(lock);
    }
}

void locked_twice(int n, pthread_mutex_t *lock, long *sum, const int *restrict a)
{
    // loop locked_twice: carried +7 +3 others may add between the two locks
    for (int i = 0; i < n; i++) {
        pthread_mutex_lock(lock);
        long s = *sum;
        pthread_mutex_unlock(lock);
        pthread_mutex_lock(lock);
        s += a[i];
        *sum = s;
        pthread_mutex_unlock(lock);
    }
}

void locked_list(int n, pthread_mutex_t *lock, int *restrict out, int *restrict k,
                 const int *restrict a)
{
    // loop locked_list: carried +3 +3 one at a time, but in what order?
    for (int i = 0; i < n; i++) {
        pthread_mutex_lock(lock);
        if (a[i] > 3) out[(*k)++] = a[i];
        pthread_mutex_unlock(lock);
    }
}

void lock_of_each(int n, pthread_mutex_t *restrict lock, double *restrict a)
{
    // loop lock_of_each: safe
    for (int i = 0; i < n; i++) {
        pthread_mutex_lock(&lock[i]);
        a[i] *= 2.0;
        pthread_mutex_unlock(&lock[i]);
    }
}

void unlocked_read(int n, pthread_mutex_t *lock, double *restrict a, double *restrict top)
{
    // loop unlocked_read: carried +4 +2
    for (int i = 0; i < n; i++) {
        if (a[i] > *top) {
            pthread_mutex_lock(lock);
            *top = 0.5 * (a[i] + *top);
            pthread_mutex_unlock(lock);
        }
    }
}

void fences(int n, double *restrict a)
{
    // loop fences: safe
    for (int i = 0; i < n; i++) {
        a[i] = i;
        atomic_thread_fence(memory_order_seq_cst);
    }
}

void exchanges(int n, atomic_int *state, int *restrict before, const int *restrict a)
{
    // loop exchanges: carried order each takes what the one before put there
    for (int i = 0; i < n; i++) {
        before[i] = atomic_exchange(state, a[i]);
    }
}

void maximum_by_exchange(int n, atomic_int *top, const int *restrict a)
{
    // loop maximum_by_exchange.i: safe
    for (int i = 0; i < n; i++) {
        int seen = atomic_load(top);
        // loop maximum_by_exchange.try: carried control ; noncanonical
        while (a[i] > seen && !atomic_compare_exchange_weak(top, &seen, a[i])) {
        }
    }
}
