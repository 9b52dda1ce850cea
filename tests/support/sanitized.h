/*
 * sanitized.h: which sanitizer a test is built for. What is learnt from many turns of the same
 * thing is not learnt from a sanitizer too: it makes each turn ten times as long.
 */
#ifndef HPC_TEST_SANITIZED_H
#define HPC_TEST_SANITIZED_H

#ifndef __has_feature
#define __has_feature(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { HPC_TEST_ASAN = 1 };
#else
enum { HPC_TEST_ASAN = 0 };
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
enum { HPC_TEST_TSAN = 1 };
#else
enum { HPC_TEST_TSAN = 0 };
#endif

#endif
