import HTTPServer
import Testing

/// Tests connect from 127.0.0.1: that is the nearest proxy, where it is trusted.
@Suite struct TrustedProxiesTests {
    private func origin(trusting text: String, _ headers: [String]) async throws -> String {
        let proxies = try #require(TrustedProxies(text))
        return try await withServer(
            { $0.trustedProxies = proxies },
            routes: { router in
                router.get("/who") { .text("\($0.scheme) \($0.remoteAddress.ip)") }
            }
        ) { server in try await request(server.port, "GET /who", headers: headers).text }
    }

    @Test func `what an untrusted peer forwards is ignored`() async throws {
        let spoofed = ["X-Forwarded-For: 198.51.100.7", "X-Forwarded-Proto: https"]
        for trusted in ["", "10.0.0.0/8", "private,2", "::1"] {
            #expect(try await origin(trusting: trusted, spoofed) == "http 127.0.0.1", "\(trusted)")
        }
    }

    @Test func `a client can't choose its address by what it writes before a trusted proxy does`() async throws {
        let headers = ["X-Forwarded-For: 203.0.113.1, 198.51.100.7", "X-Forwarded-Proto: https, http"]
        for trusted in ["loopback", "loopback,1", "1", "127.0.0.1", "loopback,private"] {
            #expect(try await origin(trusting: trusted, headers) == "http 198.51.100.7", "\(trusted)")
        }
        // Nor by a trusted address beyond the number of proxies.
        let inside = ["X-Forwarded-For: 203.0.113.1, 127.0.0.2"]
        #expect(try await origin(trusting: "loopback,1", inside) == "http 127.0.0.2")
    }

    @Test func `behind two proxies the client is the caller of the first`() async throws {
        let headers = [
            "X-Forwarded-For: 203.0.113.1, 198.51.100.7", "X-Forwarded-For: 10.0.0.5", "X-Forwarded-Proto: https, http",
        ]
        for trusted in ["2", "loopback,private", "loopback,10.0.0.0/24,2"] {
            #expect(try await origin(trusting: trusted, headers) == "https 198.51.100.7", "\(trusted)")
        }
        // The nearer one may have overwritten it.
        #expect(
            try await origin(trusting: "2", Array(headers.prefix(2)) + ["X-Forwarded-Proto: https"])
                == "https 198.51.100.7")
    }

    @Test func `ports, IPv6 and invalid addresses`() async throws {
        let cases = [
            ("198.51.100.7:4711", "198.51.100.7"), ("2001:db8::7", "2001:db8::7"), ("[2001:db8::7]:443", "2001:db8::7"),
            ("::ffff:198.51.100.7", "198.51.100.7"), ("unknown", "127.0.0.1"), ("198.51.100.7, _hidden", "127.0.0.1"),
            ("198.51.100.300", "127.0.0.1"), ("", "127.0.0.1"),
        ]
        for (forwarded, client) in cases {
            #expect(
                try await origin(trusting: "1", ["X-Forwarded-For: \(forwarded)"]) == "http \(client)", "\(forwarded)")
        }
        #expect(try await origin(trusting: "1", []) == "http 127.0.0.1")
    }

    @Test func `ranges are read as they are meant, or refused`() {
        for text in [
            "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "loopback,1,2", "0", "17", "example.org", "10.0.0/8", "::1/129",
            "/8",
        ] {
            #expect(TrustedProxies(text) == nil, "\(text)")
        }
        for text in ["", "fd00::/8, 10.0.0.0/8,3", "::/0", "0.0.0.0/0", "192.0.2.1"] {
            #expect(TrustedProxies(text) != nil, "\(text)")
        }
    }
}
