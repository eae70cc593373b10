import AWSSigning
import DocumentModel
import EventLoop
import Foundation
import HTTPClient
import HTTPServer
import ServiceBootstrap
import TestSupport
import Testing

@testable import MediaOffload

/// Against an object store that checks signatures.
@Suite struct S3Tests {
    private static let loops = LoopGroup(2)

    /// A bucket of its own.
    /// - Parameter change: changes the access key and its secret to wrong ones.
    private func withStorage(
        _ change: (inout (key: String, secret: String)) -> Void = { _ in },
        _ body: (S3ObjectStorage, HTTPClient) async throws -> Void
    ) async throws {
        let store = try await ObjectStore.shared()
        var credentials = (key: store.accessKey, secret: store.secretKey)
        change(&credentials)
        let client = HTTPClient(loop: Self.loops.next())
        try await body(
            S3ObjectStorage(
                client: client, endpoint: store.endpoint + "/", bucket: "bucket-\(ObjectId().hexString)",
                signature: AWSSignature(
                    accessKey: credentials.key, secretKey: credentials.secret, region: "us-east-1")), client)
        await client.shutDown()
    }

    @Test func `objects are kept, found, opened by a signed URL, and removed`() async throws {
        try await withStorage { storage, client in
            let key = "rchat/ab/abcd-1"
            let bytes = [UInt8](repeating: 42, count: 2_000_000)
            // The bucket is created by the first call that misses it.
            try await storage.put(key, bytes, contentType: "image/png")
            try await storage.check()
            #expect(try await storage.get(key) == bytes)
            let url = try #require(storage.signedURL("GET", key, lifetime: .seconds(60), now: .init(Date())))
            let opened = try await client.send(.init(url: url))
            #expect(opened.status == 200 && opened.body == bytes)
            #expect(opened[header: "content-type"] == "image/png")
            #expect(try await storage.size(of: key) == bytes.count)
            // A URL is for one method.
            let head = try #require(storage.signedURL("HEAD", key, lifetime: .seconds(60), now: .init(Date())))
            #expect(try await client.send(.init(method: "HEAD", url: head)).status == 200)
            #expect(try await client.send(.init(method: "HEAD", url: url)).status == 403)
            try await storage.delete(key)
            try await storage.delete(key)
            #expect(try await storage.get(key) == nil)
            #expect(try await storage.size(of: key) == nil)
            #expect(try await client.send(.init(url: url)).status == 404)
        }
    }

    @Test func `a certificate of an authority of one's own is trusted where that is named`() async throws {
        let store = try await ObjectStore.shared()
        let secure = try #require(store.secure)
        for trusts in [true, false] {
            var values = [
                "s3.endpoint": secure.endpoint, "s3.access-key": store.accessKey, "s3.secret-key": store.secretKey,
                "s3.bucket": "bucket-\(ObjectId().hexString)",
            ]
            if trusts { values["s3.tls-ca"] = secure.authority }
            let settings = try #require(S3Settings(Configuration(keys: S3Settings.keys, fileValues: values)))
            let storage = settings.storage(on: Self.loops.next())
            if trusts {
                try await storage.put("a/b", [1, 2, 3], contentType: "image/png")
                #expect(try await storage.get("a/b") == [1, 2, 3])
            } else {
                await #expect(throws: (any Error).self) { try await storage.put("a/b", [1], contentType: "image/png") }
            }
        }
    }

    @Test func `links are signed for the host that browsers send`() async throws {
        let client = HTTPClient(loop: Self.loops.next())
        func link(_ endpoint: String) -> String? {
            S3ObjectStorage(
                client: client, endpoint: endpoint, bucket: "photos",
                signature: AWSSignature(accessKey: "key", secretKey: "secret", region: "us-east-1")
            ).signedURL("GET", "a/b", lifetime: .seconds(60), now: .init(Date(timeIntervalSince1970: 0)))
        }
        for (endpoint, plain) in [
            ("https://S3.Example.com:443", "https://s3.example.com"),
            ("HTTPS://s3.example.com:443/", "https://s3.example.com"),
            ("http://S3.example.com:80", "http://s3.example.com"), ("http://[::1]:80", "http://[::1]"),
        ] {
            #expect(link(endpoint) == link(plain), "\(endpoint)")
            #expect(link(endpoint)?.hasPrefix(plain + "/photos/a/b?") == true, "\(endpoint)")
        }
        for endpoint in ["https://s3.example.com:80", "http://s3.example.com:443", "http://[::1]:9000"] {
            #expect(link(endpoint)?.hasPrefix(endpoint + "/photos/a/b?") == true, "\(endpoint)")
        }
        await client.shutDown()
    }

    @Test func `a key with any characters is signed as it is sent`() async throws {
        try await withStorage { storage, client in
            let key = "an app/ä+b=c&d~e*f'(g)/%41"
            try await storage.put(key, [1, 2, 3], contentType: "application/octet-stream")
            #expect(try await storage.get(key) == [1, 2, 3])
            let url = try #require(storage.signedURL("GET", key, lifetime: .seconds(60), now: .init(Date())))
            #expect(try await client.send(.init(url: url)).body == [1, 2, 3])
        }
    }

    @Test func `an object opens only with its own signature, which expires`() async throws {
        try await withStorage { storage, client in
            let key = "rchat/ab/abcd-1"
            try await storage.put(key, [1], contentType: "image/png")
            try await storage.put("rchat/ab/abce-1", [2], contentType: "image/png")
            let url = try #require(storage.signedURL("GET", key, lifetime: .seconds(60), now: .init(Date())))
            let late = try #require(
                storage.signedURL("GET", key, lifetime: .seconds(60), now: .init(Date(timeIntervalSinceNow: -61))))
            let plain = try #require(url.split(separator: "?").first.map(String.init))
            let prolonged = url.replacing("X-Amz-Expires=60", with: "X-Amz-Expires=600")
            for forged in [url.replacing("abcd", with: "abce"), late, plain, prolonged, String(url.dropLast()) + "x"] {
                #expect(try await client.send(.init(url: forged)).status == 403, "\(forged)")
            }
            let other = try await client.send(.init(method: "DELETE", url: url))
            #expect(other.status == 403)
            #expect(try await storage.get(key) == [1])
        }
    }

    @Test func `wrong credentials are an error that says so`() async throws {
        func error(_ change: (inout (key: String, secret: String)) -> Void) async throws -> ObjectStorageError? {
            var found: ObjectStorageError?
            try await withStorage(change) { storage, _ in
                found = await #expect(throws: ObjectStorageError.self) {
                    try await storage.put("rchat/ab/abcd-1", [1], contentType: "image/png")
                }
            }
            return found
        }
        #expect(try await error { $0.secret = "wrong" }?.message.contains("403 SignatureDoesNotMatch") == true)
        #expect(try await error { $0.key = "AKIANOBODY" }?.message.contains("403 InvalidAccessKeyId") == true)
    }

    @Test func `a photo goes to the store, its link redirects there, and it is removed with its document`() async throws
    {
        let fixture = try await MediaFixture(objectStore: .shared())
        let picture = try await TestPictures.png()
        let id = try await fixture.insert(picture)
        let link = try #require(try await fixture.movedImage(of: id)["pictureURL"]?.stringValue)
        try await fixture.grant("read", to: "amy", on: id)
        #expect(try await fixture.open(link, token: fixture.token("eve")).status == 404)
        let redirect = try await fixture.open(link, token: fixture.token("amy"))
        #expect(redirect.status == 302)
        let location = try #require(redirect[header: "location"])
        let opened = try await fixture.http.send(.init(url: location))
        #expect(opened.status == 200 && opened.body == picture)
        #expect(opened[header: "content-type"] == "image/png")
        try await fixture.settled(id)

        try await fixture.messages.deleteOne(["_id": .string(id)])
        try await eventually("the object is removed", within: patience) {
            try await fixture.http.send(.init(url: location)).status == 404
        }
    }

    // MARK: Failures

    @Test func `an error of the store contains its answer`() async throws {
        var router = HTTPRouter()
        router.get("/photos/:key") { _ in
            HTTPResponse(status: 503, body: Array("<Error><Code>SlowDown</Code></Error>".utf8))
        }
        let server = HTTPServer(
            HTTPServerConfiguration(address: "127.0.0.1", port: 0), router: router, loops: Self.loops.loops)
        try await server.start()
        let error = try await failure(of: "http://127.0.0.1:\(server.port)")
        #expect(error?.code == .status && error?.message.contains("503 SlowDown") == true)
        await server.stop()
    }

    @Test func `a store without a listener is unreachable`() async throws {
        #expect(try await failure(of: "http://127.0.0.1:1")?.code == .unreachable)
    }

    private func failure(of endpoint: String) async throws -> ObjectStorageError? {
        let client = HTTPClient(loop: Self.loops.next())
        let storage = S3ObjectStorage(
            client: client, endpoint: endpoint, bucket: "photos",
            signature: AWSSignature(accessKey: "key", secretKey: "secret", region: "us-east-1"))
        let error = await #expect(throws: ObjectStorageError.self) { try await storage.get("abcd") }
        await client.shutDown()
        return error
    }
}
