#ifndef C_CONFINE_H
#define C_CONFINE_H

#include <sys/types.h>

// What a process gives up for good before it runs code that isn't trusted. All return 0, or the errno of what failed.

/// Becomes another account, without supplementary groups and capabilities. For root, and before there are other threads.
/// `death_signal` is set again, since the kernel forgets it with the change; 0: none.
int cconfine_account(uid_t user, gid_t group, int death_signal);

/// Closes all descriptors from this number on.
int cconfine_descriptors(int first);

/// Lets the kernel take this process before others when memory is short.
int cconfine_memory_priority(void);

/// Refuses all system calls with EPERM but those that a process needs which computes, waits, has threads and memory, and reads and
/// writes descriptors that are open already. All threads, for good.
int cconfine_system_calls(void);

/// Tries what the filter is to refuse, and returns the errno of the attempt; 0 when it succeeded. By number from 0; -1 beyond the last.
int cconfine_attempt(int number, const char **name);

#endif
