import HTTPServer

/// Where the bytes of media are kept. A key is written with the same bytes only, however often.
protocol ObjectStorage: Sendable {
    /// Makes what is missing (bucket, directory), and tells whether objects can be kept at the moment.
    func check() async throws
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

/// Something is wrong with the object store. It passes: the same work is right again later.
struct ObjectStorageError: Error, Sendable, CustomStringConvertible {
    /// `status`: it answered with an error; `unreachable`: it didn't answer; `disk`: a file could not be written or read; `leftAlone`: it
    /// wasn't asked, since it failed just now.
    enum Code: String, Sendable { case status, unreachable, disk, leftAlone }

    let code: Code
    let message: String

    var description: String { "object store (\(code.rawValue)): \(message)" }
}

extension ObjectStorageError: HTTPErrorConvertible {
    var httpError: HTTPError { HTTPError(503, code: "ServiceUnavailable", "the object store can't be reached") }
}
