import AWSSigning
import DocumentModel
import Foundation
import HTTPClient

/// Objects in an S3-compatible store, addressed by path (`endpoint/bucket/key`).
struct S3ObjectStorage: ObjectStorage {
    let client: HTTPClient
    /// Scheme, host and port as browsers write them, without a slash at the end.
    let endpoint: String
    let bucket: String
    let signature: AWSSignature
    private let host: String

    /// - Parameter endpoint: `http://` or `https://`, a host, and a port unless it is the scheme's default.
    init(client: HTTPClient, endpoint: String, bucket: String, signature: AWSSignature) {
        self.client = client
        (self.endpoint, host) = Self.normalized(endpoint)
        self.bucket = bucket
        self.signature = signature
    }

    /// An endpoint, and the value that browsers send in the header `Host` for it, which is signed: in lower case, and without the port
    /// that is the scheme's default.
    private static func normalized(_ endpoint: String) -> (endpoint: String, host: String) {
        guard let parts = HTTPClient.URLParts(endpoint) else { return (endpoint, "") }  // no request can be sent to it
        var host = parts.host.lowercased()
        let port = parts.scheme == "https" ? ":443" : ":80"
        if host.hasSuffix(port) { host.removeLast(port.count) }
        let path = parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path
        return ("\(parts.scheme)://\(host)\(path)", host)
    }

    func check() async throws {
        let answer = try await send("HEAD", key: nil)
        if answer.status == 404 { return try await makeBucket() }
        try Self.require(answer, "HEAD \(bucket)")
    }

    func put(_ key: String, _ bytes: [UInt8], contentType: String) async throws {
        var answer = try await send("PUT", key: key, body: bytes, headers: [("content-type", contentType)])
        if answer.status == 404 {
            try await makeBucket()
            answer = try await send("PUT", key: key, body: bytes, headers: [("content-type", contentType)])
        }
        try Self.require(answer, "PUT \(key)")
    }

    func get(_ key: String) async throws -> [UInt8]? {
        let answer = try await send("GET", key: key)
        if answer.status == 404 { return nil }
        try Self.require(answer, "GET \(key)")
        return answer.body
    }

    func size(of key: String) async throws -> Int? {
        let answer = try await send("HEAD", key: key)
        if answer.status == 404 { return nil }
        try Self.require(answer, "HEAD \(key)")
        guard let size = answer[header: "content-length"].flatMap({ Int($0) }) else {
            throw ObjectStorageError(code: .status, message: "HEAD \(key) was answered without Content-Length")
        }
        return size
    }

    func delete(_ key: String) async throws {
        let answer = try await send("DELETE", key: key)
        if answer.status != 404 { try Self.require(answer, "DELETE \(key)") }
    }

    func signedURL(
        _ method: String, _ key: String, lifetime: Duration, now: AWSSignature.Instant
    ) -> String? {
        let path = path(key)
        let query = signature.presignedQuery(
            method: method, host: host, path: path, seconds: Int(lifetime.components.seconds), at: now)
        return "\(endpoint)\(PercentEncoding.encode(path, keeping: "/"))?\(query)"
    }

    /// Creates the bucket; another instance may create it at the same time.
    private func makeBucket() async throws {
        let isDefault = signature.region == "us-east-1"
        let place =
            "<CreateBucketConfiguration><LocationConstraint>\(signature.region)</LocationConstraint></CreateBucketConfiguration>"
        let answer = try await send("PUT", key: nil, body: isDefault ? [] : Array(place.utf8))
        if answer.status != 409 { try Self.require(answer, "PUT \(bucket)") }
    }

    private func path(_ key: String?) -> String { "/\(bucket)" + (key.map { "/\($0)" } ?? "") }

    private func send(
        _ method: String, key: String?, body: [UInt8]? = nil, headers: [(String, String)] = []
    ) async throws -> HTTPClient.Response {
        let path = path(key)
        let signed = signature.headers(
            method: method, host: host, path: path, headers: headers, bodyDigest: SHA256.hex(body ?? []),
            at: AWSSignature.Instant(Date()))
        let request = HTTPClient.Request(
            method: method, url: endpoint + PercentEncoding.encode(path, keeping: "/"),
            headers: signed.map { HTTPClient.Header($0.0, $0.1) }, body: body,
            maximumResponseBytes: 64 << 20)
        do {
            return try await client.send(request)
        } catch let error as HTTPClientError {
            throw ObjectStorageError(code: .unreachable, message: "\(method) \(bucket): \(error)")
        }
    }

    private static func require(_ answer: HTTPClient.Response, _ what: String) throws {
        guard !(200..<300).contains(answer.status) else { return }
        // The body is XML, whose element `Code` names the error.
        let code = answer.text.firstMatch(of: /<Code>([A-Za-z]+)<\/Code>/).map { " \($0.1)" } ?? ""
        throw ObjectStorageError(code: .status, message: "\(what) was answered with \(answer.status)\(code)")
    }
}
