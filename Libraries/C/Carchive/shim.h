#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

// The constants are casts, which Swift doesn't import.
static inline int carchive_is_regular(struct archive_entry *entry) { return archive_entry_filetype(entry) == AE_IFREG; }

// A pipe, socket or device.
static inline int carchive_is_special(struct archive_entry *entry) {
    mode_t type = archive_entry_filetype(entry);
    return type != 0 && type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK;
}

static inline int carchive_is_tar(struct archive *archive) {
    return (archive_format(archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
}

static inline int carchive_is_zip(struct archive *archive) {
    return (archive_format(archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_ZIP;
}

static inline void carchive_make_regular(struct archive_entry *entry) {
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
}

// libarchive converts names to the encoding of the thread's locale, which is ASCII unless a program sets another one. Returns the
// thread's former locale, or NULL if there is no locale with UTF-8.
static inline locale_t carchive_use_utf8(locale_t *utf8) {
    *utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    return *utf8 ? uselocale(*utf8) : (locale_t)0;
}

static inline void carchive_restore(locale_t former, locale_t utf8) {
    uselocale(former);
    freelocale(utf8);
}
