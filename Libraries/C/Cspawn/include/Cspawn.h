#ifndef C_SPAWN_H
#define C_SPAWN_H

#include <sys/resource.h>
#include <sys/types.h>

/// The most of a resource (`RLIMIT_…`) that a child may have, and that it may raise its limit to.
struct cspawn_limit {
  int resource;
  rlim_t most;
};

/// A program to start. `posix_spawn` can't say some of these things: the account, the limits, the signal at the parent's end.
struct cspawn_request {
  /// A path, or a name that is looked up in the parent's PATH.
  const char *executable;
  /// Both end with NULL.
  char *const *arguments;
  char *const *environment;
  /// NULL: the parent's.
  const char *directory;
  /// What standard output and standard error are appended to; standard error alone when there is an `output_descriptor`.
  /// NULL: both are that, or the parent's own.
  const char *output;
  /// The descriptor of the parent that becomes standard output; -1: none.
  int output_descriptor;
  /// Descriptors of the parent that become 3, 4, …; all others are closed.
  const int *descriptors;
  int descriptor_count;
  /// What the child gets when the calling thread ends, however it does; 0: nothing.
  int death_signal;
  /// Whether the child runs as `user` and `group`, without supplementary groups.
  int changes_account;
  uid_t user;
  gid_t group;
  /// Whether no program that it executes may give it rights that it doesn't have, as set-user-id ones do.
  int forbids_new_privileges;
  /// Whether the kernel ends it before other processes when memory runs out. It has no effect where the kernel doesn't let a process say so.
  int ends_first;
  const struct cspawn_limit *limits;
  int limit_count;
};

/// Starts a program in a process group of its own, with default signal handling and an empty standard input.
/// Returns 0, or the errno of what failed; then nothing runs.
int cspawn(const struct cspawn_request *request, pid_t *pid);

/// Makes memory of this size that can be shared with a child by its descriptor, and that nobody can make smaller: who has mapped it
/// may always read it. Returns the descriptor, or the negative errno of what failed.
int cspawn_memory(size_t size);

/// Makes an empty file in memory, which no directory has and which is gone with its last descriptor. Returns the descriptor, or the
/// negative errno of what failed.
int cspawn_file(void);

#endif
