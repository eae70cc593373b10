import ServiceEngines
import Testing

@testable import MediaOffload

/// How requests for hosted files are read.
struct HostedRequestTests {
    @Test(arguments: [
        ("/", ""), ("/a/b.html", "a/b.html"), ("/a/", "a/"), ("/a%20b", "a b"), ("//a", "/a"),
        ("/caf%C3%A9", "caf\u{E9}"),
        ("/a%3Fb%23c", "a?b#c"), ("/...", "..."), ("/a..b", "a..b"),
    ])
    func `a path is decoded part by part`(_ raw: String, _ path: String) {
        #expect(HostedPath(raw)?.text.hasSameBytes(as: path) == true)
    }

    @Test(arguments: [
        "/..", "/../a", "/a/../b", "/%2e%2e/a", "/.%2E/a", "/.", "/./a", "/a%2fb", "/%2F", "/a%2f..%2fb", "/%00", "/%",
        "/%ff", "/%c0%ae%c0%ae/a",
    ])
    func `a path that can't be a file's is none`(_ raw: String) { #expect(HostedPath(raw) == nil) }

    @Test(arguments: [
        ("bytes=0-3", ByteRange.part(0..<4)), ("bytes=0-99", .part(0..<10)), ("bytes=9-9", .part(9..<10)),
        ("BYTES=-3", .part(7..<10)), ("bytes=-99", .part(0..<10)), ("bytes=10-", .beyond), ("bytes=-0", .beyond),
        ("bytes=3-2", .whole), ("bytes=0-1,2-3", .whole), ("bytes=+1-2", .whole), ("bytes= 1-2", .whole),
        ("bytes=1-2-3", .whole), ("bytes=", .whole), ("bytes=-", .whole), ("", .whole),
        ("bytes=0-9223372036854775807", .part(0..<10)), ("bytes=9223372036854775807-9223372036854775807", .beyond),
        ("bytes=-18446744073709551616", .part(0..<10)),
    ])
    func `a range is one part of the file`(_ field: String, _ range: ByteRange) {
        #expect(ByteRange(field, of: 10) == range)
    }

    @Test func `an empty file has no range`() { #expect(ByteRange("bytes=0-", of: 0) == .beyond) }

    @Test(arguments: [
        ("gzip", true), ("br, GZIP ; q=0.1", true), ("*", true), ("gzip;q=0", false), ("*;q=0", false),
        ("*, gzip;q=0", false), ("identity", false), ("", false), ("gzipped", false),
    ])
    func `gzip is sent to those who accept it`(_ field: String, _ isAllowed: Bool) {
        #expect(AcceptedCoding.allowsGzip(field) == isAllowed)
    }

    @Test func `an app has a host below the domain`() throws {
        let address = try #require(HostingAddress(url: "https://Apps.example.com:8443/"))
        #expect(address.origin(of: "Shop-abc") == "https://shop-abc.apps.example.com:8443")
        #expect(HostingAddress(url: "https://a.b:443")?.origin(of: "x") == "https://x.a.b")
        #expect(HostingAddress(url: "http://localhost:8085")?.origin(of: "x") == "http://x.localhost:8085")
        #expect(address.name(inHost: "SHOP-abc.apps.example.com:1") == "shop-abc")
        #expect(address.name(inHost: "shop.apps.example.com.") == "shop")
        for host in [
            "apps.example.com", ".apps.example.com", "a.b.apps.example.com", "xapps.example.com", "", "[::1]:1",
        ] {
            #expect(address.name(inHost: host) == nil, "\(host)")
        }
    }

    @Test(arguments: [
        "https://127.0.0.1", "https://[::1]", "ftp://a.b", "https://a.b/c", "https://a.b?c", "https://u@a.b", "a.b",
        "https://a_b*",
    ])
    func `another address is refused`(_ url: String) { #expect(HostingAddress(url: url) == nil) }
}
