import AppRegistry
import Archives
import DocumentModel
import Foundation
import HTTPClient
import HTTPServer
import TestSupport
import Testing

@testable import MediaOffload

extension MediaOffloadTests {
    /// Hosted files of apps, as the proxy asks for them.
    @Suite struct HostingTests {
        private static let page = Array("<!doctype html><title>Shop</title>\n".utf8)

        /// What doesn't compress.
        private static func noise(_ count: Int) -> [UInt8] {
            var random = SystemRandomNumberGenerator()
            return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        }

        @Test func `a file is served with what its metadata say, and else by its ending`() async throws {
            let fixture = try await MediaFixture.shared()
            let app = try await fixture.host(
                [
                    "index.html": Self.page, "app.js": [0x31], "data.bin": [1, 2], "doc.txt": [0x61], "old.html": [],
                    "packed.js": [0x1F, 0x8B],
                ],
                metadata: """
                    [{"path": "/doc.txt", "attrs": [
                       {"name": "content-type", "value": "text/plain; charset=latin1"},
                       {"name": "Cache-Control", "value": "max-age=300"},
                       {"name": "Content-Language", "value": "en-US"},
                       {"name": "Content-Disposition", "value": "attachment; filename=\\"a.txt\\""}]},
                     {"path": "/packed.js", "attrs": [{"name": "Content-Encoding", "value": "gzip"}]},
                     {"path": "/old.html", "attrs": [{"name": "Website-Redirect-Location", "value": "/index.html"}]},
                     {"path": "/app.js", "attrs": null}]
                    """)
            let page = try await fixture.page("/", of: app)
            #expect(page.status == 200 && page.body == Self.page)
            #expect(page[header: "content-type"] == "text/html; charset=utf-8")
            #expect(page[header: "cache-control"] == "no-cache")
            #expect(page[header: "x-content-type-options"] == "nosniff")
            #expect(page[header: "accept-ranges"] == "bytes")
            #expect(try await fixture.page("/index.html?v=2", of: app).body == Self.page)
            #expect(
                try await fixture.page("/app.js", of: app)[header: "content-type"] == "text/javascript; charset=utf-8")
            #expect(
                try await fixture.page("/data.bin", of: app)[header: "content-type"] == "application/octet-stream")
            let text = try await fixture.page("/doc.txt", of: app)
            #expect(text[header: "content-type"] == "text/plain; charset=latin1")
            #expect(text[header: "cache-control"] == "max-age=300")
            #expect(text[header: "content-language"] == "en-US")
            #expect(text[header: "content-disposition"] == #"attachment; filename="a.txt""#)
            let packed = try await fixture.page("/packed.js", of: app)
            #expect(packed[header: "content-encoding"] == "gzip")
            let old = try await fixture.page("/old.html", of: app)
            #expect(old.status == 301 && old[header: "location"] == "/index.html")
        }

        @Test func `what a client has isn't sent again, and a new version is`() async throws {
            let fixture = try await MediaFixture.shared()
            let app = try await fixture.host(["index.html": Self.page])
            let first = try await fixture.page("/", of: app)
            let tag = try #require(first[header: "etag"]), date = try #require(first[header: "last-modified"])
            for condition in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
                let again = try await fixture.page("/", of: app, [("If-None-Match", condition)])
                #expect(again.status == 304 && again.body.isEmpty, "\(condition)")
                #expect(again[header: "etag"] == tag)
                #expect(again[header: "content-length"] == "\(Self.page.count)")
            }
            let old = "Sun, 06 Nov 1994 08:49:37 GMT"
            for (name, value) in [("If-Match", "\"x\""), ("If-Match", "W/\(tag)"), ("If-Unmodified-Since", old)] {
                let condition = [(name, value), ("If-None-Match", tag), ("Range", "bytes=0-1")]
                #expect(try await fixture.page("/", of: app, condition).status == 412, "\(name)")
            }
            for (name, value) in [("If-Match", "\"x\", \(tag)"), ("If-Match", "*"), ("If-Unmodified-Since", date)] {
                #expect(try await fixture.page("/", of: app, [(name, value)]).body == Self.page, "\(name)")
            }
            #expect(try await fixture.page("/", of: app, [("If-None-Match", "\"x\"")]).status == 200)
            #expect(try await fixture.page("/", of: app, [("If-Modified-Since", date)]).status == 304)
            // The tag counts, not the date.
            #expect(
                try await fixture.page("/", of: app, [("If-None-Match", "\"x\""), ("If-Modified-Since", date)]).status
                    == 200)
            for date in ["Sun, 06 Nov 1994 08:49:37 GMT", "yesterday", ""] {
                #expect(try await fixture.page("/", of: app, [("If-Modified-Since", date)]).status == 200, "\(date)")
            }
            _ = try await fixture.host(["index.html": Self.page + [0x21]], as: app)
            let next = try await fixture.page("/", of: app, [("If-None-Match", tag)])
            #expect(next.status == 200 && next.body == Self.page + [0x21])
        }

        @Test func `HEAD has the fields of GET, and nothing else is allowed`() async throws {
            let fixture = try await MediaFixture.shared()
            let large = Self.noise(200_000)
            let app = try await fixture.host(["a.bin": large, "empty.txt": []])
            let head = try await fixture.page("/a.bin", of: app, method: "HEAD")
            #expect(head.status == 200 && head.body.isEmpty && head[header: "content-length"] == "200000")
            let range = try await fixture.page("/a.bin", of: app, method: "HEAD", [("Range", "bytes=0-1")])
            #expect(range.status == 200 && range[header: "content-length"] == "200000")
            #expect(try await fixture.page("/a.bin", of: app).body == large)
            let empty = try await fixture.page("/empty.txt", of: app)
            #expect(empty.status == 200 && empty.body.isEmpty && empty[header: "content-length"] == "0")
            for method in ["POST", "PUT", "DELETE"] {
                #expect(try await fixture.page("/a.bin", of: app, method: method).status == 405)
            }
        }

        @Test func `a text is compressed when it is deployed, and sent so to clients that take it`() async throws {
            let fixture = try await MediaFixture.shared()
            let text = Array(String(repeating: "const a = 1;\n", count: 20_000).utf8)
            let app = try await fixture.host([
                "app.js": text, "a.png": text, "small.js": [0x31], "noise.js": Self.noise(4096),
            ])
            let stored = try await fixture.engines.postgres.query(
                "select count(*) from partita.app_files where app = $1 and gzip is not null", [.text(app)]
            ).decode(Int.self)
            #expect(stored == [1])  // both names have the same bytes
            let plain = try await fixture.page("/app.js", of: app, [("Accept-Encoding", "identity")])
            #expect(plain.body == text && plain[header: "content-encoding"] == nil)
            #expect(plain.headers.contains { $0.name.lowercased() == "vary" && $0.value == "Accept-Encoding" })
            let packed = try await fixture.page("/app.js", of: app, [("Accept-Encoding", "br, gzip;q=0.5")])
            #expect(packed[header: "content-encoding"] == "gzip")
            #expect(packed[header: "content-length"].flatMap { Int($0) } ?? .max < 10_000)
            #expect(packed[header: "etag"] != plain[header: "etag"])
            #expect(packed.body == Gzip.compress(text) || packed.body == text)  // curl may have unpacked it
            let tag = try #require(packed[header: "etag"])
            let again = try await fixture.page(
                "/app.js", of: app, [("Accept-Encoding", "gzip"), ("If-None-Match", tag)])
            #expect(again.status == 304)
            // A part is one of the file itself.
            let part = try await fixture.page(
                "/app.js", of: app, [("Accept-Encoding", "gzip"), ("Range", "bytes=0-4")])
            #expect(part.status == 206 && part.body == Array("const".utf8))
            #expect(part[header: "content-encoding"] == nil)
            for name in ["small.js", "noise.js"] {
                let answer = try await fixture.page("/\(name)", of: app, [("Accept-Encoding", "gzip")])
                #expect(answer[header: "content-encoding"] == nil, "\(name)")
            }
        }

        @Test func `a range is sent, one beyond the end refused, many at once are everything`() async throws {
            let fixture = try await MediaFixture.shared()
            let bytes = Self.noise(300_000)
            let app = try await fixture.host(["a.bin": bytes])
            let tag = try #require(try await fixture.page("/a.bin", of: app, method: "HEAD")[header: "etag"])
            func range(_ text: String, _ more: [(String, String)] = []) async throws -> HTTPClient.Response {
                try await fixture.page("/a.bin", of: app, [("Range", text)] + more)
            }
            let middle = try await range("bytes=100-299")
            #expect(middle.status == 206 && middle.body == Array(bytes[100..<300]))
            #expect(middle[header: "content-range"] == "bytes 100-299/300000")
            let large = try await range("bytes=1000-")
            #expect(large.status == 206 && large.body == Array(bytes[1000...]))
            #expect(try await range("bytes=-5").body == Array(bytes.suffix(5)))
            #expect(try await range("bytes=299999-99999999999999999999999").body == Array(bytes.suffix(1)))
            #expect(try await range("bytes=0-0", [("If-Range", tag)]).status == 206)
            #expect(try await range("bytes=0-0", [("If-Range", "\"old\"")]).status == 200)
            for beyond in ["bytes=300000-", "bytes=-0", "bytes=99999999999999999999999-"] {
                let answer = try await range(beyond)
                #expect(answer.status == 416 && answer.body.isEmpty, "\(beyond)")
                #expect(answer[header: "content-range"] == "bytes */300000")
            }
            let many = "bytes=" + (0..<1000).map { "\($0)-\($0)" }.joined(separator: ",")
            for whole in ["bytes=0-1,5-6", many, "bytes=5-2", "lines=1-2", "bytes=a-b", "bytes=--1", "bytes=-"] {
                let answer = try await range(whole)
                #expect(answer.status == 200 && answer.body == bytes, "\(whole.prefix(20))")
            }
        }

        @Test func `a path without a file gets the app's page for it, with the app's status`() async throws {
            let fixture = try await MediaFixture.shared()
            let files: KeyValuePairs = [
                "index.html": Self.page, "sorry.html": Array("sorry".utf8), "docs/index.html": [0x64],
            ]
            let spa = try await fixture.host(
                files, settings: #", "default_error_path": "/index.html", "default_response_code": 200"#)
            let deep = try await fixture.page("/orders/17?tab=2", of: spa)
            #expect(deep.status == 200 && deep.body == Self.page && deep[header: "etag"] != nil)
            let custom = try await fixture.host(
                files, settings: #", "default_error_path": "/sorry.html", "default_error_code": "404""#)
            let sorry = try await fixture.page(
                "/nothing", of: custom, [("Range", "bytes=0-1"), ("If-None-Match", "*")])
            #expect(sorry.status == 404 && sorry.body == Array("sorry".utf8))
            let plain = try await fixture.host(files)
            let missing = try await fixture.page("/nothing", of: plain)
            #expect(missing.status == 404 && missing.text.contains("there is no such file"))
            #expect(missing[header: "content-type"] == "text/plain; charset=utf-8")
            let folder = try await fixture.page("/docs", of: plain)
            #expect(folder.status == 302 && folder[header: "location"] == "/docs/")
            let link = try await fixture.page("/docs?token=a%20b&tokenId=2", of: plain)
            #expect(link.status == 302 && link[header: "location"] == "/docs/?token=a%20b&tokenId=2")
            #expect(try await fixture.page("/docs/", of: plain).body == [0x64])
        }

        @Test func `names are compared by their bytes, and no path leads out of the app's files`() async throws {
            let fixture = try await MediaFixture.shared()
            let app = try await fixture.host([
                "index.html": Self.page, "Readme.txt": [1], "README.txt": [2], "a b+c&d.txt": [3], "100%.txt": [4],
                "caf\u{E9}.txt": [5], "cafe\u{301}.txt": [6], ".env": [7], ".git/config": [8],
                ".well-known/security.txt": [9], "node_modules/x/x.js": [10],
            ])
            let found: [(String, UInt8)] = [
                ("/Readme.txt", 1), ("/README.txt", 2), ("/a%20b+c%26d.txt", 3), ("/100%25.txt", 4),
                ("/caf%C3%A9.txt", 5), ("/cafe%CC%81.txt", 6), ("/.well-known/security.txt", 9), ("/%52eadme.txt", 1),
                ("/node_modules/x/x.js", 10),
            ]
            for (path, byte) in found { #expect(try await fixture.page(path, of: app).body == [byte], "\(path)") }
            for path in [
                "/readme.txt", "/.env", "/.git/config", "//index.html", "/index.html/", "/a/..%2findex.html",
                "/%2e%2e/hosting/config.json", "/..%2f..%2fconfig.json", "/hosting/config.json", "/%2findex.html",
                "/..%5cindex.html", "/\(String(repeating: "a/", count: 4000))",
            ] {
                let answer = try await fixture.page(path, of: app)
                #expect(answer.status == 404, "\(path.prefix(40)): \(answer.status)")
            }
            for path in ["/%ff.txt", "/%zz", "/%", "/a%00.txt"] {
                let answer = try await fixture.page(path, of: app)
                #expect(answer.status == 400, "\(path): \(answer.status)")
            }
        }

        @Test func `an app's pages are only at its own host`() async throws {
            let fixture = try await MediaFixture.shared()
            let first = try await fixture.host(["index.html": [1]]),
                second = try await fixture.host(["index.html": [2]])
            #expect(try await fixture.page("/", of: first).body == [1])
            #expect(try await fixture.page("/", of: second, host: "\(second.uppercased()).PAGES.test:8085").body == [2])
            for host in [
                "127.0.0.1", "pages.test", "x.\(first).pages.test", "\(first).other.test", "\(first).pages.test.evil",
                "\(first)pages.test", ".pages.test", "nobody.pages.test",
            ] {
                #expect(try await fixture.page("/", of: first, host: host).status == 404, "\(host)")
            }
            // Nothing in the path chooses an app.
            #expect(try await fixture.page("/\(second)/index.html", of: first).status == 404)
            #expect(try await fixture.page("/", of: fixture.app).status == 404, "it hosts nothing")
            // Ids that differ only in case, which a deployment refuses: none has the host.
            let lower = "twin-\(ObjectId().hexString)"
            _ = try await fixture.host(["index.html": [3]], as: "T" + lower.dropFirst())
            #expect(try await fixture.page("/", of: lower).body == [3])
            _ = try await fixture.host(["index.html": [4]], as: lower)
            #expect(try await fixture.page("/", of: lower).status == 404)
        }

        @Test func `what is being sent has a budget, of which an app gets more only while as much is free`()
            async throws
        {
            let fixture = try await MediaFixture.shared()
            let app = try await fixture.host(["a.bin": Self.noise(400_000), "b.bin": Self.noise(400_000)])
            let registry = AppRegistry(client: fixture.engines.postgres)
            let files = try await registry.hostedFiles(of: app, version: 1)
            let contents = HostedContents(registry: registry, keptLimit: 1 << 20, limit: 1 << 20)
            func load(_ name: String) async throws -> Int {
                let file = try #require(files[name])
                let key = HostedContents.Key(app: app, digest: file.digest, isCompressed: false)
                let content = try await contents.content(key, size: file.size)
                defer { withExtendedLifetime(content) {} }
                // While it is held, there isn't room for the other.
                let other = try #require(files[name == "a.bin" ? "b.bin" : "a.bin"])
                let otherKey = HostedContents.Key(app: app, digest: other.digest, isCompressed: false)
                let refusal = await #expect(throws: HTTPError.self) {
                    try await contents.content(otherKey, size: other.size)
                }
                #expect(refusal?.status == 503 && refusal?.response.headers["Retry-After"] == "1")
                return content.bytes.count
            }
            #expect(try await load("a.bin") == 400_000)
            // What is only kept makes room, as soon as the task that loaded it is gone, too.
            try await eventually("there is room") {
                do { return try await load("b.bin") == 400_000 } catch let error as HTTPError {
                    #expect(error.status == 503)
                    return false
                }
            }
        }

        @Test func `an app that has its share makes room only with its own files`() async throws {
            let fixture = try await MediaFixture.shared()
            let registry = AppRegistry(client: fixture.engines.postgres)
            let contents = HostedContents(registry: registry, keptLimit: 1 << 20, limit: 1 << 20)
            let other = try await Self.keys(of: fixture.host(["a.bin": Self.noise(100_000)]), registry)
            let app = try await Self.keys(
                of: fixture.host(["a.bin": Self.noise(400_000), "b.bin": Self.noise(400_001)]), registry)
            let kept = try await contents.content(other[0], size: 100_000)
            let sent = try await contents.content(app[0], size: 400_000)
            await #expect(throws: HTTPError.self) { try await contents.content(app[1], size: 400_001) }
            #expect(try await contents.content(other[0], size: 100_000) === kept)
            withExtendedLifetime(sent) {}
        }

        @Test func `a full budget drops no more than is needed, and what was used longest ago first`() async throws {
            let fixture = try await MediaFixture.shared()
            let registry = AppRegistry(client: fixture.engines.postgres)
            let old = try await Self.keys(of: fixture.host(["a.bin": Self.noise(100_000)]), registry)
            let new = try await Self.keys(of: fixture.host(["a.bin": Self.noise(400_000)]), registry)
            let large = try await Self.keys(of: fixture.host(["a.bin": Self.noise(600_000)]), registry)
            // Dropping the first one makes room only when the task that loaded it is gone, too.
            try await eventually("only the first one is dropped", within: patience) {
                let contents = HostedContents(registry: registry, keptLimit: 1 << 20, limit: 1 << 20)
                _ = try await contents.content(old[0], size: 100_000)
                let kept = try await contents.content(new[0], size: 400_000)
                do {
                    _ = try await contents.content(large[0], size: 600_000)
                    return try await contents.content(new[0], size: 400_000) === kept
                } catch is HTTPError {
                    return false
                }
            }
        }

        /// The keys of an app's files, the smallest first.
        private static func keys(of app: String, _ registry: AppRegistry) async throws -> [HostedContents.Key] {
            try await registry.hostedFiles(of: app, version: 1).values.sorted { $0.size < $1.size }.map {
                HostedContents.Key(app: app, digest: $0.digest, isCompressed: false)
            }
        }

        @Test func `files at the limit are served, also many at a time`() async throws {
            let fixture = try await MediaFixture.shared()
            let bytes = Self.noise(25 << 20)
            let app = try await fixture.host(["film.mp4": bytes])
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 { group.addTask { try await fixture.page("/film.mp4", of: app).body == bytes } }
                for try await isWhole in group { #expect(isWhole) }
            }
        }
    }
}
