import AWSSigning
import Foundation
import Glibc

/// Objects as files, for a machine without an object store. A key's slashes are folders.
struct FileObjectStorage: ObjectStorage {
    let directory: String

    func check() async throws {
        let directory = directory
        try await onDisk {
            try Self.makeDirectory(directory)
            guard access(directory, W_OK | X_OK) == 0 else { throw Self.error("write to", directory) }
        }
    }

    func put(_ key: String, _ bytes: [UInt8], contentType: String) async throws {
        let path = path(key)
        try await onDisk {
            try Self.makeDirectory((path as NSString).deletingLastPathComponent)
            try Self.writeDurably(bytes, to: path)
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

    private static func makeDirectory(_ path: String) throws {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw ObjectStorageError(code: .disk, message: "can't make the directory \(path): \(error)")
        }
    }

    /// Writes to a temporary file in the same directory, syncs it, then renames it: a reader sees the whole file or
    /// none, also after a crash.
    private static func writeDurably(_ bytes: [UInt8], to path: String) throws {
        let temporary = path + ".\(UUID().uuidString).part"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw error("create", temporary) }
        var isKept = false
        defer {
            close(descriptor)
            if !isKept { unlink(temporary) }
        }
        var offset = 0
        while offset < bytes.count {
            let written = bytes[offset...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard written > 0 else { throw error("write", temporary) }
            offset += written
        }
        guard fsync(descriptor) == 0, rename(temporary, path) == 0 else { throw error("keep", temporary) }
        isKept = true
        try syncDirectory((path as NSString).deletingLastPathComponent)
    }

    /// A file's name is durable only when its directory was synced.
    private static func syncDirectory(_ path: String) throws {
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
