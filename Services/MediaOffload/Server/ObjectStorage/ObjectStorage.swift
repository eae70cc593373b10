import AWSSigning
import HTTPServer

/// A store for the bytes of media. A key may be written several times, but always with the same bytes.
protocol ObjectStorage: Sendable {
    /// Creates the bucket or directory if it is missing.
    /// - Throws: ``ObjectStorageError`` when objects can't be stored at the moment.
    func check() async throws
    /// Stores the bytes under the key; they are durable when it returns.
    func put(_ key: String, _ bytes: [UInt8], contentType: String) async throws
    /// - Returns: `nil` when there is no such object.
    func get(_ key: String) async throws -> [UInt8]?
    /// Bytes of an object, fewer than the range if it is shorter; `nil` when there is no such object.
    func part(_ key: String, _ range: Range<Int>) async throws -> [UInt8]?
    /// The number of bytes of an object; `nil` when there is no such object.
    func size(of key: String) async throws -> Int?
    /// Removes an object; a missing object is not an error.
    func delete(_ key: String) async throws
    /// A URL with which the object can be read for `lifetime` without further authorization, by requests with this method (`GET` or `HEAD`);
    /// `nil` when the storage doesn't support that and the service must send the bytes itself.
    func signedURL(
        _ method: String, _ key: String, lifetime: Duration, now: AWSSignature.Instant
    ) async throws -> String?
}

extension ObjectStorage {
    /// For stores that clients read by ``signedURL(_:_:lifetime:now:)``.
    func part(_ key: String, _ range: Range<Int>) async throws -> [UInt8]? {
        try await get(key).map { Array($0[range.clamped(to: 0..<$0.count)]) }
    }
}

/// A failure of the object store. It is transient: the same call may be retried later.
struct ObjectStorageError: Error, Sendable, CustomStringConvertible {
    /// `status`: the store answered with an error; `unreachable`: it didn't answer; `disk`: a file could not be written or read;
    /// `leftAlone`: it wasn't called, since it has just failed; `foreign`: it isn't the system's store.
    enum Code: String, Sendable { case status, unreachable, disk, leftAlone, foreign }

    let code: Code
    let message: String

    var description: String { "object store (\(code.rawValue)): \(message)" }
}

extension ObjectStorageError: HTTPErrorConvertible {
    var httpError: HTTPError { HTTPError(503, code: "ServiceUnavailable", "the object store can't be reached") }
}
