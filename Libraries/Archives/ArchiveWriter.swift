import Carchive
import Glibc

/// Writes files into a zip or tar archive in memory, with libarchive. The same files make the same bytes.
public struct ArchiveWriter: Sendable {
    /// The formats of archives.
    public enum Format: String, CaseIterable, Sendable {
        case zip
        case tar
        /// A tar archive that is compressed with gzip.
        case tarGzip = "tar.gz"

        /// The format of a file with this name, by its ending; `nil` for any other ending.
        public init?(ofFileNamed name: String) {
            let endings: [(String, Format)] = [
                (".zip", .zip), (".tar", .tar), (".tar.gz", .tarGzip), (".tgz", .tarGzip),
            ]
            let name = name.lowercased()
            guard let format = endings.first(where: { name.hasSuffix($0.0) })?.1 else { return nil }
            self = format
        }
    }

    private let format: Format

    public init(_ format: Format) { self.format = format }

    /// An archive of these files, in their order.
    ///
    /// - Parameters:
    ///   - files: their paths, with `/` between components, and bytes.
    ///   - time: the files' time, in seconds since 1970.
    /// - Throws: `ArchiveError` with code `unwritable`.
    public func archive(_ files: [(path: String, bytes: [UInt8])], time: Int = 0) throws(ArchiveError) -> [UInt8] {
        var utf8: locale_t?
        guard let former = carchive_use_utf8(&utf8) else {
            throw ArchiveError(.unwritable, "this machine has no locale C.UTF-8, which writing names needs")
        }
        defer { carchive_restore(former, utf8) }
        guard let handle = archive_write_new() else { throw ArchiveError(.unwritable, "libarchive can't start") }
        defer { archive_write_free(handle) }
        switch format {
        case .zip: archive_write_set_format_zip(handle)
        // Its names are bytes. Those of the pax format are read in Unicode's normal form C, which may be that of another file.
        case .tar: archive_write_set_format_gnutar(handle)
        case .tarGzip:
            archive_write_set_format_gnutar(handle)
            archive_write_add_filter_gzip(handle)
            // Otherwise the present time would be in it.
            archive_write_set_filter_option(handle, "gzip", "timestamp", nil)
        }
        // The headers of a tar archive and the padding of both its ends, and those of a zip archive.
        let capacity = files.reduce(1 << 20) {
            $0 + $1.bytes.count + $1.bytes.count / 1000 + 4096 + 4 * $1.path.utf8.count
        }
        var bytes = [UInt8](repeating: 0, count: capacity)
        var used = 0
        let result = bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(ArchiveError) in
                guard archive_write_open_memory(handle, buffer.baseAddress, buffer.count, &used) == ARCHIVE_OK else {
                    throw Self.failure(handle)
                }
                for file in files { try Self.write(file.path, file.bytes, time, to: handle) }
                guard archive_write_close(handle) == ARCHIVE_OK else { throw Self.failure(handle) }
            }
        }
        try result.get()
        return Array(bytes.prefix(used))
    }

    private static func write(
        _ path: String, _ bytes: [UInt8], _ time: Int, to handle: OpaquePointer
    ) throws(ArchiveError) {
        guard let entry = archive_entry_new() else { throw ArchiveError(.unwritable, "libarchive has no memory") }
        defer { archive_entry_free(entry) }
        archive_entry_set_pathname(entry, path)
        archive_entry_set_size(entry, Int64(bytes.count))
        archive_entry_set_mtime(entry, time, 0)
        carchive_make_regular(entry)
        guard archive_write_header(handle, entry) == ARCHIVE_OK else { throw failure(handle) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { archive_write_data(handle, $0.baseAddress, $0.count) }
            guard count > 0 else { throw failure(handle) }
            rest = rest.dropFirst(count)
        }
    }

    private static func failure(_ handle: OpaquePointer) -> ArchiveError {
        let reason = archive_error_string(handle).map { String(cString: $0) } ?? "unknown error"
        return ArchiveError(.unwritable, "the archive can't be written: \(reason)")
    }
}
