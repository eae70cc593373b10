import AWSSigning
import DocumentModel
import EventLoop
import Foundation
import Glibc

/// Objects as files, for a machine without an object store. A key's slashes are folders.
struct FileObjectStorage: ObjectStorage {
    let directory: String
    /// Waits until the names in a directory are on the disk.
    private let sync: @Sendable (String) throws -> Void
    /// The folders of objects whose names are on the disk, as far as this process knows.
    private let durable = Locked<Set<ExactText>>([])

    init(directory: String, sync: @escaping @Sendable (String) throws -> Void = Self.syncDirectory) {
        self.directory = directory
        self.sync = sync
    }

    func check() async throws {
        try await onDisk {
            try makeDirectory(directory)
            guard access(directory, W_OK | X_OK) == 0 else { throw Self.error("write to", directory) }
        }
    }

    func put(_ key: String, _ bytes: [UInt8], contentType: String) async throws {
        let path = path(key)
        try await onDisk {
            try makeDirectory(Self.folder(of: path))
            try writeDurably(bytes, to: path)
        }
    }

    func size(of key: String) async throws -> Int? {
        let path = path(key)
        return try await onDisk {
            var state = stat()
            if stat(path, &state) == 0 { return Int(state.st_size) }
            if try !exists(path) { return nil }
            throw Self.error("read", path)
        }
    }

    private func exists(_ path: String) throws -> Bool {
        if access(path, F_OK) == 0 { return true }
        // Without the directory it is unknown whether the object exists.
        if errno == ENOENT, access(directory, F_OK) == 0 { return false }
        throw Self.error("read", path)
    }

    func get(_ key: String) async throws -> [UInt8]? {
        let path = path(key)
        return try await onDisk {
            guard try exists(path) else { return nil }
            do {
                return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            } catch {
                throw ObjectStorageError(code: .disk, message: "can't read \(path): \(error)")
            }
        }
    }

    func part(_ key: String, _ range: Range<Int>) async throws -> [UInt8]? {
        let path = path(key)
        return try await onDisk {
            guard try exists(path) else { return nil }
            let file = open(path, O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { throw Self.error("read", path) }
            defer { close(file) }
            return try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
                while count < range.count {
                    let read = pread(
                        file, buffer.baseAddress?.advanced(by: count), range.count - count,
                        off_t(range.lowerBound + count))
                    if read < 0 { throw Self.error("read", path) }
                    if read == 0 { return }
                    count += read
                }
            }
        }
    }

    func delete(_ key: String) async throws {
        let path = path(key)
        try await onDisk {
            if unlink(path) != 0, errno != ENOENT { throw Self.error("delete", path) }
        }
    }

    func signedURL(_ method: String, _ key: String, lifetime: Duration, now: AWSSignature.Instant) -> String? { nil }

    /// Keys are made by this service (ids of apps, hexadecimal digits and slashes), never from a client's text.
    private func path(_ key: String) -> String { "\(directory)/\(key)" }

    /// Makes a folder and those above it, as far as they are missing. When it returns, the names of those that hold objects are
    /// durable: a folder that is there already may have been made by a caller, or a process, that hasn't come to the end.
    private func makeDirectory(_ path: String) throws {
        let isInside = path.utf8.count > directory.utf8.count, name = ExactText(path)
        if durable.withLock({ $0.contains(name) }), access(path, F_OK) == 0 { return }
        let parent = Self.folder(of: path)
        if isInside { try makeDirectory(parent) }
        var isMade = mkdir(path, 0o777) == 0
        if !isMade, errno == ENOENT, !isInside, !parent.isEmpty {
            try makeDirectory(parent)
            isMade = mkdir(path, 0o777) == 0
        }
        guard isMade || errno == EEXIST else { throw Self.error("make the directory", path) }
        guard isMade || isInside else { return }
        try sync(parent.isEmpty ? "." : parent)
        if isInside { durable.withLock { _ = $0.insert(name) } }
    }

    /// Empty for a name without one. (`NSString`'s ends the process for a path of one letter.)
    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Writes to a temporary file in the same directory, syncs it, then renames it: a reader sees the whole file or
    /// none, also after a crash.
    private func writeDurably(_ bytes: [UInt8], to path: String) throws {
        let temporary = path + ".\(UUID().uuidString).part"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.error("create", temporary) }
        var isKept = false
        defer {
            close(descriptor)
            if !isKept { unlink(temporary) }
        }
        var offset = 0
        while offset < bytes.count {
            let written = bytes[offset...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard written > 0 else { throw Self.error("write", temporary) }
            offset += written
        }
        guard fsync(descriptor) == 0, rename(temporary, path) == 0 else { throw Self.error("keep", temporary) }
        isKept = true
        try sync(Self.folder(of: path))
    }

    /// A file's name is durable only when its directory was synced.
    static func syncDirectory(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw error("open", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw error("sync", path) }
    }

    private static func error(_ what: String, _ path: String) -> ObjectStorageError {
        ObjectStorageError(code: .disk, message: "can't \(what) \(path): \(String(cString: strerror(errno)))")
    }

    private func onDisk<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            Self.queue.async { continuation.resume(with: Result { try body() }) }
        }
    }

    /// File operations block, which threads of Swift's concurrency pool must not do.
    private static let queue = DispatchQueue(label: "media.files", attributes: .concurrent)
}
