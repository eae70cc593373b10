import Carchive
import Glibc
import Texts

/// Reads files of a zip or tar archive (also compressed with gzip) into memory, with libarchive. Nothing is written to the disk, so that
/// no path of an archive leads anywhere; links aren't followed, and other entries that aren't regular files are skipped.
public struct ArchiveReader: Sendable {
    /// A file of an archive.
    public struct File: Sendable {
        /// The path as the archive has it.
        public let path: String
        public let bytes: [UInt8]
    }

    /// A link in an archive.
    public struct Link: Sendable {
        /// The path as the archive has it.
        public let path: String
        /// Where it leads.
        public let target: String
    }

    /// A path that isn't UTF-8.
    public struct MalformedPath: Sendable {
        /// With the bytes that are no text escaped, for people.
        public let shown: String
        /// With the bytes that are no text replaced.
        public let repaired: String
    }

    /// What an archive has of what is wanted.
    public struct Contents: Sendable {
        public var files: [File] = []
        public var links: [Link] = []
        /// The paths of files and links that would be wanted, if their bytes were text.
        public var malformed: [MalformedPath] = []
        /// The paths of pipes and devices that would be wanted, if they were files.
        public var special: [String] = []
        /// The paths of files that are wanted, and that have more bytes than the limit for one.
        public var large: [String] = []
    }

    /// How much of an archive is read.
    public struct Limits: Sendable {
        /// The most entries, including those that aren't wanted.
        public var entries: Int
        /// The most bytes of one file.
        public var fileBytes: Int
        /// The most bytes of all files that are wanted.
        public var totalBytes: Int
        /// The most bytes that are unpacked, including those of files that aren't wanted: a small tar archive can unpack to very many.
        public var unpackedBytes: Int

        public init(entries: Int, fileBytes: Int, totalBytes: Int, unpackedBytes: Int) {
            self.entries = entries
            self.fileBytes = fileBytes
            self.totalBytes = totalBytes
            self.unpackedBytes = unpackedBytes
        }
    }

    private let limits: Limits

    public init(limits: Limits) { self.limits = limits }

    /// The regular files of an archive in memory that are wanted, in its order. Blocks, for as long as unpacking takes.
    ///
    /// - Parameter isWanted: called with each file's path; for links also with a `/` at its end, since a link may stand for a folder.
    /// - Throws: `ArchiveError`, also for a wanted file whose path isn't UTF-8, or that is larger than the limit for one.
    public func files(of archive: [UInt8], where isWanted: (String) -> Bool) throws(ArchiveError) -> [File] {
        try files(of: try contents(of: archive, where: isWanted))
    }

    private func files(of contents: Contents) throws(ArchiveError) -> [File] {
        if let name = contents.malformed.first { throw Self.notText(name.shown) }
        if let path = contents.large.first {
            throw ArchiveError(.tooLarge, "\(path) has more than \(limits.fileBytes) bytes, the limit")
        }
        return contents.files
    }

    private static func notText(_ name: String) -> ArchiveError {
        ArchiveError(.unreadable, "the name \(name) isn't UTF-8: rename it, and make the archive again")
    }

    /// The regular files and the links of an archive in memory that are wanted, in its order. Blocks, for as long as unpacking takes.
    public func contents(of archive: [UInt8], where isWanted: (String) -> Bool) throws(ArchiveError) -> Contents {
        let opened = archive.withUnsafeBytes { bytes in
            Result { () throws(ArchiveError) in
                try contents(isWanted, end: { Array(archive.suffix($0)) }) {
                    archive_read_open_memory($0, bytes.baseAddress, bytes.count)
                }
            }
        }
        return try opened.get()
    }

    /// The same for an archive in a file.
    public func files(at path: String, where isWanted: (String) -> Bool) throws(ArchiveError) -> [File] {
        try files(
            of: try contents(isWanted, end: { Self.end(of: path, $0) }) {
                archive_read_open_filename($0, path, 64 << 10)
            })
    }

    /// A tar archive ends with two blocks of zeros, in bytes (POSIX.1-2017, `pax`).
    private static let endBytes = 1024
    /// The most bytes that a zip archive has after the first byte of its last record: the record and a comment (APPNOTE.TXT, 4.3.16).
    private static let zipEndBytes = 22 + 65_535

    /// The last bytes of a file; fewer if it can't be read, or has fewer.
    private static func end(of path: String, _ wanted: Int) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        let size = lseek(file, 0, SEEK_END)
        guard size >= 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: min(wanted, Int(size)))
        guard lseek(file, off_t(-bytes.count), SEEK_END) >= 0 else { return [] }
        let count = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
        return Array(bytes.prefix(max(0, count)))
    }

    /// - Parameter end: the last bytes of the archive, so many or fewer.
    private func contents(
        _ isWanted: (String) -> Bool, end: (Int) -> [UInt8], open: (OpaquePointer) -> Int32
    ) throws(ArchiveError) -> Contents {
        var utf8: locale_t?
        guard let former = carchive_use_utf8(&utf8) else {
            throw ArchiveError(.unreadable, "this machine has no locale C.UTF-8, which reading names needs")
        }
        defer { carchive_restore(former, utf8) }
        guard let handle = archive_read_new() else { throw ArchiveError(.unreadable, "libarchive can't start") }
        defer { archive_read_free(handle) }
        archive_read_support_filter_gzip(handle)
        archive_read_support_format_zip(handle)
        archive_read_support_format_tar(handle)
        guard open(handle) == ARCHIVE_OK else { throw Self.failure(handle) }
        let contents = try read(handle, isWanted)
        // libarchive takes a tar archive that was cut between two entries for a whole one; of a compressed one, the compression has an end
        // of its own.
        if carchive_is_tar(handle) != 0, archive_filter_code(handle, 0) == ARCHIVE_FILTER_NONE {
            let end = end(Self.endBytes)
            guard end.count == Self.endBytes, end.allSatisfy({ $0 == 0 }) else {
                throw ArchiveError(.unreadable, "the tar archive was cut: its end is missing")
            }
        }
        // Nor does it need the directory at a zip archive's end, without which files could be missing.
        if carchive_is_zip(handle) != 0, !Self.hasZipEnd(end(Self.zipEndBytes)) {
            throw ArchiveError(.unreadable, "the zip archive was cut: its end is missing")
        }
        return contents
    }

    /// Whether the last bytes of an archive have the end of central directory record of a zip archive, and the comment that it announces.
    private static func hasZipEnd(_ end: [UInt8]) -> Bool {
        var start = end.count - 22
        while start >= 0 {
            if end[start] == 0x50, end[start + 1] == 0x4B, end[start + 2] == 5, end[start + 3] == 6,
                start + 22 + Int(end[start + 20]) + Int(end[start + 21]) << 8 <= end.count
            {
                return true
            }
            start -= 1
        }
        return false
    }

    private func read(_ handle: OpaquePointer, _ isWanted: (String) -> Bool) throws(ArchiveError) -> Contents {
        var contents = Contents()
        var (count, total, unpacked) = (0, 0, 0)
        let isTar = { carchive_is_tar(handle) != 0 }
        while let entry = try next(handle) {
            count += 1
            guard count <= limits.entries else {
                throw ArchiveError(.tooLarge, "it has more than \(limits.entries) entries, the limit")
            }
            let name = try Self.path(entry)
            guard let path = String(validating: name, as: UTF8.self) else {
                let repaired = String(decoding: name, as: UTF8.self)
                if isWanted(repaired) {
                    contents.malformed.append(MalformedPath(shown: String(escaping: name), repaired: repaired))
                }
                if isTar() { try skip(handle, &unpacked) }
                continue
            }
            if let target = archive_entry_symlink(entry) ?? archive_entry_hardlink(entry) {
                if isWanted(path) || isWanted(path + "/") {
                    contents.links.append(Link(path: path, target: String(cString: target)))
                }
                continue
            }
            guard carchive_is_regular(entry) != 0, isWanted(path) else {
                if carchive_is_special(entry) != 0, isWanted(path) { contents.special.append(path) }
                // The next header skips a file of a zip; one of a compressed tar has to be unpacked for that.
                if isTar() { try skip(handle, &unpacked) }
                continue
            }
            guard let bytes = try bytes(handle) else {
                contents.large.append(path)
                unpacked += limits.fileBytes
                try check(unpacked)
                if isTar() { try skip(handle, &unpacked) }
                continue
            }
            total += bytes.count
            unpacked += bytes.count
            guard total <= limits.totalBytes else {
                throw ArchiveError(.tooLarge, "its files have more than \(limits.totalBytes) bytes, the limit")
            }
            try check(unpacked)
            contents.files.append(File(path: path, bytes: bytes))
        }
        return contents
    }

    private func next(_ handle: OpaquePointer) throws(ArchiveError) -> OpaquePointer? {
        var entry: OpaquePointer?
        switch archive_read_next_header(handle, &entry) {
        case ARCHIVE_EOF: return nil
        case ARCHIVE_OK, ARCHIVE_WARN: return entry
        default: throw Self.failure(handle)
        }
    }

    /// - Returns: `nil` for a file that is larger than the limit for one.
    private func bytes(_ handle: OpaquePointer) throws(ArchiveError) -> [UInt8]? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = chunk.withUnsafeMutableBytes { archive_read_data(handle, $0.baseAddress, $0.count) }
            guard count >= 0 else { throw Self.failure(handle) }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
            if bytes.count > limits.fileBytes { return nil }
        }
    }

    private func skip(_ handle: OpaquePointer, _ unpacked: inout Int) throws(ArchiveError) {
        var (bytes, count, offset): (UnsafeRawPointer?, Int, Int64) = (nil, 0, 0)
        while true {
            switch archive_read_data_block(handle, &bytes, &count, &offset) {
            case ARCHIVE_EOF: return
            case ARCHIVE_OK, ARCHIVE_WARN: unpacked += count
            default: throw Self.failure(handle)
            }
            try check(unpacked)
        }
    }

    /// - Parameter unpacked: the bytes so far.
    private func check(_ unpacked: Int) throws(ArchiveError) {
        guard unpacked <= limits.unpackedBytes else {
            throw ArchiveError(.tooLarge, "it unpacks to more than \(limits.unpackedBytes) bytes, the limit")
        }
    }

    /// The name is in UTF-8 if the archive says so, and otherwise taken as it is.
    private static func path(_ entry: OpaquePointer) throws(ArchiveError) -> [UInt8] {
        guard let name = archive_entry_pathname_utf8(entry) ?? archive_entry_pathname(entry) else {
            throw ArchiveError(.unreadable, "the name of an entry isn't UTF-8: make the archive again")
        }
        return Array(UnsafeRawBufferPointer(start: name, count: strlen(name)))
    }

    private static func failure(_ handle: OpaquePointer) -> ArchiveError {
        let reason = archive_error_string(handle).map { String(cString: $0) } ?? "unknown error"
        return ArchiveError(.unreadable, "not a zip or tar archive, or a damaged one (\(reason))")
    }
}
