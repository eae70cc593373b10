/// Where the bytes of media are kept. Keys are content addresses, so writing a key twice writes the same bytes.
protocol ObjectStorage: Sendable {
    /// Keeps the bytes under the key. Durable when it returns.
    func put(_ key: String, _ bytes: [UInt8], contentType: String) async throws
    /// - Returns: `nil` when there is no such object.
    func get(_ key: String) async throws -> [UInt8]?
    /// Removing what isn't there is no error.
    func delete(_ key: String) async throws
    /// A URL that opens the object for `lifetime` without any other right, or `nil` when the storage has none and the service must
    /// send the bytes itself.
    func signedURL(_ key: String, lifetime: Duration, now: S3Signature.Instant) -> String?
}

/// Something is wrong with the object store.
struct ObjectStorageError: Error, Sendable, CustomStringConvertible {
    /// `status`: it answered with an error; `unreachable`: it didn't answer; `disk`: a file could not be written or read.
    enum Code: String, Sendable { case status, unreachable, disk }

    let code: Code
    let message: String

    var description: String { "object store (\(code.rawValue)): \(message)" }
}
