#define _GNU_SOURCE
#include "Cspawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int cspawn_file(void) {
  int file = memfd_create("file", MFD_CLOEXEC);
  return file < 0 ? -errno : file;
}

int cspawn_memory(size_t size) {
  int memory = memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory < 0) return -errno;
  if (ftruncate(memory, (off_t)size) == 0 && fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    return memory;
  int error = errno;
  close(memory);
  return -error;
}
