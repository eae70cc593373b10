import EventLoop
import Foundation
import HTTPClient
import HTTPServer
import Testing

@testable import MediaOffload

/// Against a server that speaks as much of S3 as is used, and checks signatures over what really came.

struct S3Tests {
    private static let loops = LoopGroup(2)
    private static let signature = S3Signature(accessKey: "AKIADEV", secretKey: "devsecret", region: "us-east-1")

    private final class Bucket: Sendable {
        let objects = Locked<[String: [UInt8]]>([:])
        let isMade = Locked(false)
        let failures = Locked(0)

        func answer(_ request: HTTPRequest) -> HTTPResponse {
            let isFailing = failures.withLock { failures in
                failures -= 1
                return failures >= 0
            }
            if isFailing { return HTTPResponse(status: 503, body: Array("<Error><Code>SlowDown</Code></Error>".utf8)) }
            guard isSigned(request) else {
                return HTTPResponse(status: 403, body: Array("<Error><Code>SignatureDoesNotMatch</Code></Error>".utf8))
            }
            guard request.path != "/photos" else {
                guard request.method == .put else { return HTTPResponse(status: isMade.withLock { $0 } ? 200 : 404) }
                isMade.withLock { $0 = true }
                return HTTPResponse()
            }
            guard isMade.withLock({ $0 }) else {
                return HTTPResponse(status: 404, body: Array("<Error><Code>NoSuchBucket</Code></Error>".utf8))
            }
            return objects.withLock { objects in
                switch request.method {
                case .put: objects[request.path] = request.body
                case .delete: objects[request.path] = nil
                default: return objects[request.path].map { HTTPResponse(body: $0) } ?? HTTPResponse(status: 404)
                }
                return HTTPResponse(status: request.method == .delete ? 204 : 200)
            }
        }

        private func isSigned(_ request: HTTPRequest) -> Bool {
            guard let host = request.headers["host"] else { return false }
            if let date = request.query["X-Amz-Date"], let seconds = request.query["X-Amz-Expires"].flatMap(Int.init) {
                return request.query.raw
                    == S3Tests.signature.presignedQuery(
                        method: "GET", host: host, path: request.path, seconds: seconds, at: .init(text: date))
            }
            guard let date = request.headers["x-amz-date"], let authorization = request.headers["authorization"] else {
                return false
            }
            let type = request.method == .put ? request.headers["content-type"] : nil
            let expected = S3Tests.signature.headers(
                method: request.method.rawValue, host: host, path: request.path,
                headers: authorization.contains("content-type") ? [("content-type", type ?? "")] : [],
                bodyDigest: SHA256.hex(request.body), at: .init(text: date))
            return expected.contains { $0.0 == "authorization" && $0.1 == authorization }
        }
    }

    private func withBucket(_ body: (S3ObjectStorage, Bucket, HTTPClient) async throws -> Void) async throws {
        let bucket = Bucket()
        var router = HTTPRouter()
        for path in ["/photos", "/photos/:app/:start/:key"] {
            router.get(path) { bucket.answer($0) }
            router.put(path, bodyLimit: 16 << 20) { bucket.answer($0) }
            router.delete(path) { bucket.answer($0) }
        }
        let server = HTTPServer(
            HTTPServerConfiguration(address: "127.0.0.1", port: 0), router: router, loops: Self.loops.loops)
        try await server.start()
        let client = HTTPClient(loop: Self.loops.next())
        try await body(
            S3ObjectStorage(
                client: client, endpoint: "http://127.0.0.1:\(server.port)/", bucket: "photos",
                signature: Self.signature),
            bucket, client)
        await client.shutDown()
        await server.stop()
    }

    @Test func `objects are kept, found, opened by a signed URL, and removed`() async throws {
        try await withBucket { storage, bucket, client in
            let key = "rchat/ab/abcd-1"
            let bytes = [UInt8](repeating: 42, count: 2_000_000)
            // The bucket is made by the first who misses it.
            try await storage.put(key, bytes, contentType: "image/png")
            try await storage.check()
            #expect(try await storage.get(key) == bytes)
            let url = try #require(storage.signedURL(key, lifetime: .seconds(60), now: .init(Date())))
            #expect(try await client.send(.init(url: url)).body == bytes)
            #expect(try await client.send(.init(url: url.replacing("abcd", with: "abce"))).status == 403)
            try await storage.delete(key)
            try await storage.delete(key)
            #expect(try await storage.get(key) == nil)
        }
    }

    @Test func `an error of the store says what it answered`() async throws {
        try await withBucket { storage, bucket, _ in
            bucket.failures.withLock { $0 = 1 }
            let error = await #expect(throws: ObjectStorageError.self) { try await storage.get("rchat/ab/abcd-1") }
            #expect(error?.code == .status && error?.message.contains("503 SlowDown") == true)
        }
    }

    @Test func `a store that nobody listens for is unreachable`() async throws {
        let client = HTTPClient(loop: Self.loops.next())
        let storage = S3ObjectStorage(
            client: client, endpoint: "http://127.0.0.1:1", bucket: "photos", signature: Self.signature)
        let error = await #expect(throws: ObjectStorageError.self) { try await storage.check() }
        #expect(error?.code == .unreachable)
        await client.shutDown()
    }
}
