#ifndef C_CRASH_H
#define C_CRASH_H

#include <stddef.h>
#include <stdint.h>

/// How many works can be noted at once; further ones are left out.
#define CCRASH_WORKS 1024
/// How many bytes of a work's description are kept.
#define CCRASH_WORK_BYTES 191

/// From now on a fatal signal (SEGV, BUS, ILL, FPE, TRAP, ABRT, SYS) writes a report to `descriptor` before the process ends by it:
/// signal, address, the works in progress, and the stack with module, offset and mangled symbol. The handler that was there before
/// (Swift's own) is called afterwards where SWIFT_BACKTRACE is set.
///
/// Everything is allocated here, and only async-signal-safe calls are made later (signal-safety(7)), with one exception:
/// `backtrace`, which is safe once its library is loaded, and it is loaded here.
///
/// So does a stack that has run over, on the main thread and on all that were begun by `pthread_create`.
///
/// - `name`: the process' name, kept by reference: it must live as long as the process.
/// - `json`: whether the report is one JSON object on one line, or text.
/// Returns 0, or an errno.
int ccrash_install(const char *name, int descriptor, int json);

/// Notes that a work begins, such as a request. Returns its place, or -1 when there is none.
/// Callable from any thread.
int ccrash_begin(const char *text, size_t length);

/// The work at a place has ended.
void ccrash_end(int place);

#endif
