#include <spawn.h>
// Declared by glibc only under _GNU_SOURCE, which Swift's importer doesn't set (glibc 2.34 and newer).
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *, const char *);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
