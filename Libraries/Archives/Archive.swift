import Carchive
import Glibc

/// Reads archives: zip and tar, also compressed by gzip.
public enum Archive {
    /// A file of an archive.
    public struct File: Sendable {
        /// The path as the archive has it.
        public var path: String
        public var bytes: [UInt8]
    }

    /// How much is read.
    public struct Limits: Sendable {
        /// The most bytes of all accepted files together.
        public var bytes: Int
        /// The most entries, of any kind.
        public var entries: Int

        public init(bytes: Int, entries: Int) {
            self.bytes = bytes
            self.entries = entries
        }
    }

    /// Reads the regular files of an archive. Nothing is written; links and other kinds of entries are passed over.
    /// - Parameters:
    ///   - path: the archive's place.
    ///   - accepts: whether the file of this path is read.
    /// - Throws: `ArchiveError` when it can't be read, is no archive, or exceeds a limit.
    public static func files(
        of path: String, limits: Limits, where accepts: (String) -> Bool
    ) throws(ArchiveError) -> [File] {
        guard let archive = archive_read_new() else { throw ArchiveError(path: path, message: "out of memory") }
        defer { archive_read_free(archive) }
        for code in [
            archive_read_support_filter_gzip(archive), archive_read_support_format_tar(archive),
            archive_read_support_format_zip(archive), archive_read_open_filename(archive, path, 64 << 10),
        ] where code != ARCHIVE_OK {
            throw ArchiveError(archive, path)
        }
        var files: [File] = []
        var total = 0
        var count = 0
        var entry: OpaquePointer?
        while true {
            let code = archive_read_next_header(archive, &entry)
            if code == ARCHIVE_EOF { return files }
            guard code == ARCHIVE_OK || code == ARCHIVE_WARN, let entry else { throw ArchiveError(archive, path) }
            count += 1
            guard count <= limits.entries else {
                throw ArchiveError(path: path, message: "it has more than \(limits.entries) entries")
            }
            guard archive_entry_filetype(entry) == S_IFREG, let raw = archive_entry_pathname(entry) else { continue }
            let name = String(cString: raw)
            guard accepts(name) else { continue }
            let bytes = try read(archive, path, atMost: limits.bytes - total)
            total += bytes.count
            files.append(File(path: name, bytes: bytes))
        }
    }

    /// The sizes in an archive's headers can be wrong, so the bytes are counted as they are read.
    private static func read(
        _ archive: OpaquePointer, _ path: String, atMost limit: Int
    ) throws(ArchiveError) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = archive_read_data(archive, &part, part.count)
            guard count >= 0 else { throw ArchiveError(archive, path) }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else {
                throw ArchiveError(path: path, message: "its files have more bytes than allowed")
            }
            bytes += part.prefix(count)
        }
    }
}

/// Why an archive can't be read.
public struct ArchiveError: Error, Sendable, CustomStringConvertible {
    /// The archive's place.
    public let path: String
    public let message: String

    init(path: String, message: String) {
        self.path = path
        self.message = message
    }

    init(_ archive: OpaquePointer, _ path: String) {
        self.init(path: path, message: archive_error_string(archive).map { String(cString: $0) } ?? "it can't be read")
    }

    public var description: String { "\(path): \(message)" }
}
