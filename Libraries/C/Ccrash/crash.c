#define _GNU_SOURCE
#include "Ccrash.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FRAMES 64
#define MODULES 128

struct work {
  atomic_uint_fast8_t taken;
  /// Set last and read first: a report made meanwhile shows what is complete.
  atomic_size_t length;
  char text[CCRASH_WORK_BYTES + 1];
};

static struct work works[CCRASH_WORKS];
static atomic_uint next_place;
static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
static const char *const fatal_names[] = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGABRT", "SIGSYS"};
#define FATAL (sizeof fatal / sizeof fatal[0])
static struct sigaction earlier[FATAL];
static const char *process_name;
static int report_descriptor, report_json, calls_earlier;
static atomic_int reporting;

struct module {
  uintptr_t from, to, base;
  char name[64];
};
static struct module modules[MODULES];
static int module_count;

// MARK: Works in progress

int ccrash_begin(const char *text, size_t length) {
  unsigned start = atomic_fetch_add_explicit(&next_place, 1, memory_order_relaxed);
  for (unsigned i = 0; i < 64; i++) {
    struct work *work = &works[(start + i) % CCRASH_WORKS];
    uint_fast8_t expected = 0;
    if (!atomic_compare_exchange_strong_explicit(&work->taken, &expected, 1, memory_order_acquire, memory_order_relaxed)) continue;
    if (length > CCRASH_WORK_BYTES) length = CCRASH_WORK_BYTES;
    memcpy(work->text, text, length);
    atomic_store_explicit(&work->length, length, memory_order_release);
    return (int)((start + i) % CCRASH_WORKS);
  }
  return -1;
}

void ccrash_end(int place) {
  if (place < 0 || place >= CCRASH_WORKS) return;
  atomic_store_explicit(&works[place].length, 0, memory_order_release);
  atomic_store_explicit(&works[place].taken, 0, memory_order_release);
}

// MARK: Writing, without allocating

static char output[32768];
static size_t used;

static void put_byte(char byte) {
  if (used < sizeof output - 2) output[used++] = byte;
}

static void put(const char *text) {
  while (*text) put_byte(*text++);
}

/// Text from elsewhere, which can't end the string or the line that it is in.
static void put_escaped(const char *text, size_t length) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)text[i];
    if (byte == '"' || byte == '\\') {
      put_byte('\\');
      put_byte((char)byte);
    } else if (byte < 0x20 || byte >= 0x7f) {
      put("\\u00");
      put_byte(digits[byte >> 4]);
      put_byte(digits[byte & 15]);
    } else {
      put_byte((char)byte);
    }
  }
}

static void put_number(uint64_t number, unsigned base) {
  char digits[24];
  int count = 0;
  do {
    digits[count++] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number);
  while (count) put_byte(digits[--count]);
}

static void put_padded(uint64_t number, int width) {
  for (uint64_t limit = 10; width > 1; width--, limit *= 10)
    if (number < limit) {
      for (; width > 1; width--) put_byte('0');
      break;
    }
  put_number(number, 10);
}

/// UTC as in the rest of the log (days to a date: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
static void put_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int64_t days = now.tv_sec / 86400, second = now.tv_sec % 86400;
  int64_t z = days + 719468, era = z / 146097, doe = z - era * 146097;
  int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365, doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  int64_t mp = (5 * doy + 2) / 153, day = doy - (153 * mp + 2) / 5 + 1, month = mp < 10 ? mp + 3 : mp - 9;
  put_number((uint64_t)(yoe + era * 400 + (month <= 2)), 10);
  put_byte('-'), put_byte((char)('0' + month / 10)), put_byte((char)('0' + month % 10));
  put_byte('-'), put_byte((char)('0' + day / 10)), put_byte((char)('0' + day % 10)), put_byte('T');
  int64_t parts[] = {second / 3600, second / 60 % 60, second % 60};
  for (int i = 0; i < 3; i++) {
    if (i) put_byte(':');
    put_byte((char)('0' + parts[i] / 10)), put_byte((char)('0' + parts[i] % 10));
  }
  put_byte('.');
  put_padded((uint64_t)now.tv_nsec / 1000, 6);
  put_byte('Z');
}

// MARK: The stack

/// The function that an offset of the executable is in, from its symbol table; the executable isn't stripped, and its functions
/// aren't exported, so that `dladdr` doesn't know them.
static void put_symbol(const unsigned char *file, size_t size, uint64_t offset) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)file;
  if (size < sizeof *header || header->e_shoff + (uint64_t)header->e_shnum * sizeof(Elf64_Shdr) > size) return;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(file + header->e_shoff);
  for (int i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) continue;
    const Elf64_Shdr *names = &sections[sections[i].sh_link];
    if (sections[i].sh_offset + sections[i].sh_size > size || names->sh_offset + names->sh_size > size) return;
    const Elf64_Sym *symbols = (const Elf64_Sym *)(const void *)(file + sections[i].sh_offset);
    for (size_t j = 0; j < sections[i].sh_size / sizeof *symbols; j++) {
      if (ELF64_ST_TYPE(symbols[j].st_info) != STT_FUNC || symbols[j].st_name >= names->sh_size) continue;
      if (offset < symbols[j].st_value || offset >= symbols[j].st_value + symbols[j].st_size) continue;
      const char *name = (const char *)file + names->sh_offset + symbols[j].st_name;
      put_byte(' ');
      put_escaped(name, strnlen(name, names->sh_size - symbols[j].st_name));
      return;
    }
  }
}

static int note_module(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size, (void)context;
  if (module_count == MODULES) return 1;
  struct module *module = &modules[module_count];
  const char *name = info->dlpi_name ? info->dlpi_name : "";
  const char *slash = strrchr(name, '/');
  strncpy(module->name, slash ? slash + 1 : name, sizeof module->name - 1);
  module->base = info->dlpi_addr;
  module->from = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = start + info->dlpi_phdr[i].p_memsz;
    if (start < module->from) module->from = start;
    if (end > module->to) module->to = end;
  }
  module_count++;
  return 0;
}

static void put_frame(void *frame, const unsigned char *file, size_t size) {
  uintptr_t address = (uintptr_t)frame;
  for (int i = 0; i < module_count; i++) {
    if (address < modules[i].from || address >= modules[i].to) continue;
    int is_executable = modules[i].name[0] == 0;
    put(is_executable ? process_name : modules[i].name);
    put("+0x");
    put_number(address - modules[i].base, 16);
    // A return address is behind its call.
    if (is_executable && file) put_symbol(file, size, address - modules[i].base - 1);
    return;
  }
  put("0x");
  put_number(address, 16);
}

// MARK: The report

static void put_report(int number, const siginfo_t *info) {
  const char *name = "signal";
  for (size_t i = 0; i < FATAL; i++)
    if (fatal[i] == number) name = fatal_names[i];
  char thread[17] = {0};
  prctl(PR_GET_NAME, thread, 0, 0, 0);
  void *frames[FRAMES];
  int count = backtrace(frames, FRAMES);
  const unsigned char *file = NULL;
  size_t size = 0;
  struct stat status;
  int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
    size = (size_t)status.st_size;
    void *mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    file = mapped == MAP_FAILED ? NULL : mapped;
  }

  const char *item = report_json ? "\",\"" : "\n    ";
  if (report_json) put("{\"time\":\"");
  put_time();
  put(report_json ? "\",\"level\":\"critical\",\"label\":\"" : " CRITICAL ");
  put(process_name);
  put(report_json ? "\",\"message\":\"died of a signal\",\"metadata\":{\"signal\":\"" : ": died of a signal: signal=");
  put(name);
  put(report_json ? "\",\"address\":\"0x" : " address=0x");
  put_number((uintptr_t)info->si_addr, 16);
  put(report_json ? "\",\"thread\":\"" : " thread=");
  put_escaped(thread, strlen(thread));
  put(report_json ? "\",\"in.progress\":[" : "\n  in progress:");
  int shown = 0;
  for (int i = 0; i < CCRASH_WORKS && used < sizeof output / 2; i++) {
    size_t length = atomic_load_explicit(&works[i].length, memory_order_acquire);
    if (length == 0 || length > CCRASH_WORK_BYTES) continue;
    put(report_json ? (shown ? ",\"" : "\"") : "\n    ");
    put_escaped(works[i].text, length);
    if (report_json) put_byte('"');
    shown++;
  }
  put(report_json ? "],\"stack\":[" : "\n  stack:");
  for (int i = 0; i < count && used < sizeof output - 1024; i++) {
    put(report_json ? (i ? ",\"" : "\"") : item);
    put_frame(frames[i], file, size);
    if (report_json) put_byte('"');
  }
  if (report_json) put("]}}");
  put_byte('\n');
  for (size_t written = 0; written < used;) {
    ssize_t done = write(report_descriptor, output + written, used - written);
    if (done < 0 && errno != EINTR && errno != EAGAIN) break;
    if (done > 0) written += (size_t)done;
  }
}

static void handle(int number, siginfo_t *info, void *context) {
  int expected = 0;
  if (atomic_compare_exchange_strong(&reporting, &expected, (int)syscall(SYS_gettid))) {
    put_report(number, info);
  } else if (expected != (int)syscall(SYS_gettid)) {
    // Another thread writes the report and ends the process; this one died meanwhile.
    for (;;) pause();
  }
  for (size_t i = 0; i < FATAL && calls_earlier; i++)
    if (fatal[i] == number && (earlier[i].sa_flags & SA_SIGINFO) && earlier[i].sa_sigaction)
      earlier[i].sa_sigaction(number, info, context);
  // The status of the process says the signal: by its default action, again.
  struct sigaction standard = {0};
  standard.sa_handler = SIG_DFL;
  sigaction(number, &standard, NULL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

// MARK: Stacks for the handler

// A stack that has run over leaves no room for the handler: each thread gets a second one for it, also those that begin before
// `ccrash_install` is called.
#define STACK_BYTES 65536

static pthread_key_t second_stack;
static atomic_int gives_stacks;

static void use_stack(void *stack) {
  stack_t second = {.ss_sp = stack, .ss_size = STACK_BYTES};
  sigaltstack(&second, NULL);
}

static void release_stack(void *stack) {
  sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
  munmap(stack, STACK_BYTES);
}

__attribute__((constructor)) static void give_stacks(void) {
  static char stack[STACK_BYTES];
  use_stack(stack);
  if (pthread_key_create(&second_stack, release_stack) == 0) atomic_store(&gives_stacks, 1);
}

// ThreadSanitizer has a `pthread_create` of its own.
#if !__has_feature(thread_sanitizer)
struct beginning {
  void *(*body)(void *);
  void *argument;
};

static void *begin_thread(void *context) {
  struct beginning beginning = *(struct beginning *)context;
  free(context);
  void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack != MAP_FAILED) {
    use_stack(stack);
    pthread_setspecific(second_stack, stack);
  }
  return beginning.body(beginning.argument);
}

/// Stands before libc's for the whole process, its libraries included: Dispatch begins threads by itself.
__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                                          void *(*body)(void *), void *argument) {
  int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
      (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
  if (!create) return ENOSYS;
  if (!atomic_load(&gives_stacks)) return create(thread, attributes, body, argument);
  struct beginning *beginning = malloc(sizeof *beginning);
  if (!beginning) return EAGAIN;
  *beginning = (struct beginning){.body = body, .argument = argument};
  int status = create(thread, attributes, begin_thread, beginning);
  if (status != 0) free(beginning);
  return status;
}
#endif

int ccrash_install(const char *name, int descriptor, int json) {
  process_name = name;
  report_descriptor = descriptor;
  report_json = json;
  // Swift's own report takes seconds, in which no request is served, so it is made only on demand.
  calls_earlier = getenv("SWIFT_BACKTRACE") != NULL;
  void *frames[1];
  backtrace(frames, 1);  // loads the unwinder
  module_count = 0;
  dl_iterate_phdr(note_module, NULL);
  struct sigaction action = {0};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < FATAL; i++)
    if (sigaction(fatal[i], &action, &earlier[i]) != 0) return errno;
  return 0;
}
