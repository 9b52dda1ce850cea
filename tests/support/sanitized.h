/*
 * sanitized.h: which sanitizer a test is built for. It makes each turn of a loop ten times as long,
 * and the tenth turn shows it nothing that the first did not.
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
