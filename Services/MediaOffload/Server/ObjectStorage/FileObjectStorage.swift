import Foundation
import Glibc

/// Objects as files, for a machine without an object store. A key's first two characters are its folder.
struct FileObjectStorage: ObjectStorage {
    let directory: String

    func put(_ key: String, _ bytes: [UInt8], contentType: String) async throws {
        let path = path(key)
        try await onDisk {
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try Self.writeDurably(bytes, to: path)
        }
    }

    func get(_ key: String) async throws -> [UInt8]? {
        let path = path(key)
        return try await onDisk { FileManager.default.contents(atPath: path).map { Array($0) } }
    }

    func delete(_ key: String) async throws {
        let path = path(key)
        try await onDisk {
            if unlink(path) != 0, errno != ENOENT { throw Self.error("delete", path) }
        }
    }

    func signedURL(_ key: String, lifetime: Duration, now: S3Signature.Instant) -> String? { nil }

    /// Keys are ours (hexadecimal digests and a slash), never a client's text.
    private func path(_ key: String) -> String { "\(directory)/\(key.prefix(2))/\(key.replacing("/", with: "_"))" }

    /// To a file beside it, synced, then renamed: a reader sees all of it or nothing, also after a crash.
    private static func writeDurably(_ bytes: [UInt8], to path: String) throws {
        let temporary = path + ".\(UUID().uuidString).part"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw error("create", temporary) }
        defer { close(descriptor) }
        var offset = 0
        while offset < bytes.count {
            let written = bytes[offset...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard written > 0 else { throw error("write", temporary) }
            offset += written
        }
        guard fsync(descriptor) == 0, rename(temporary, path) == 0 else { throw error("rename", temporary) }
    }

    private static func error(_ what: String, _ path: String) -> ObjectStorageError {
        ObjectStorageError(code: .disk, message: "can't \(what) \(path): \(String(cString: strerror(errno)))")
    }

    private func onDisk<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            Self.queue.async { continuation.resume(with: Result { try body() }) }
        }
    }

    /// The disk blocks; Swift's own threads must not.
    private static let queue = DispatchQueue(label: "media.files", attributes: .concurrent)
}
