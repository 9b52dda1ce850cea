/*
 * sanitized.h: the sanitizer that a test is built for. Tests use it to shorten loops, which take
 * ten times as long and show nothing new after the first iterations.
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
