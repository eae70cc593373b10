import EventLoop
import HTTPClient
import Testing

/// A client that requests URLs from outside.
@Suite struct EgressTests {
    let loop = EventLoop(name: "egress")
    let server: LocalServer

    init() throws {
        server = try LocalServer { connection in
            while let request = LocalRequest(connection) {
                let target = request.target
                // `/to/URL` redirects to the URL.
                let answer =
                    target.hasPrefix("/to/")
                    ? "HTTP/1.1 302 Found\r\nLocation: \(target.dropFirst(4))\r\nContent-Length: 0\r\n\r\n"
                    : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                guard connection.write(answer) else { return }
            }
        }
    }

    private func client(_ egress: EgressPolicy) -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.egress = egress
        configuration.connectTimeout = .seconds(5)
        return HTTPClient(loop: loop, configuration: configuration)
    }

    private func code(_ client: HTTPClient, _ url: String, redirects: Int = 0) async -> HTTPClientError.Code? {
        var request = HTTPClient.Request(url: url)
        request.maximumRedirects = redirects
        do {
            _ = try await client.send(request)
            return nil
        } catch {
            return (error as? HTTPClientError)?.code
        }
    }

    @Test func `however an address of this machine is written, nothing connects to it`() async throws {
        let client = client(.publicOnly)
        let hosts = [
            "127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "[::1]", "[::]",
            "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
        ]
        for host in hosts {
            #expect(await code(client, "http://\(host):\(server.port)/") == .refused, "\(host)")
        }
        #expect(server.connections == 0)
        await client.shutDown()
    }

    @Test(arguments: [
        "169.254.169.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.100.100.200",
        "0.1.2.3", "192.0.0.192", "198.18.0.1", "224.0.0.1", "239.255.255.250", "255.255.255.255", "168.63.129.16",
        "[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[fec0::1]", "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2001::1]", "[100::1]", "[2001:db8::1]",
    ])
    func `addresses that aren't the public internet's are refused before anything is sent`(host: String) async throws {
        let client = client(.publicOnly)
        #expect(await code(client, "http://\(host)/latest/meta-data/") == .refused)
        await client.shutDown()
    }

    @Test func `only what an operator allows is connected to`() async throws {
        let port = server.port
        for entry in [
            "127.0.0.1", "127.0.0.0/8", "127.0.0.1:\(port)", "localhost", "LOCALHOST:\(port)", "::ffff:127.0.0.1",
        ] {
            let client = client(try EgressPolicy(allowing: [entry]))
            let host = entry.lowercased().hasPrefix("localhost") ? "localhost" : "127.0.0.1"
            #expect(await code(client, "http://\(host):\(port)/") == nil, "\(entry)")
            await client.shutDown()
        }
        for entry in ["127.0.0.2", "127.0.0.1:1", "10.0.0.0/8", "*.localhost", "example.org", "localhost"] {
            let client = client(try EgressPolicy(allowing: [entry]))
            #expect(await code(client, "http://127.0.0.1:\(port)/") == .refused, "\(entry)")
            await client.shutDown()
        }
    }

    @Test func `a redirect can't lead where the policy doesn't allow it`() async throws {
        let port = server.port
        let client = client(try EgressPolicy(allowing: ["127.0.0.1:\(port)"]))
        #expect(await code(client, "http://127.0.0.1:\(port)/to/http://127.0.0.1:\(port)/", redirects: 3) == nil)
        for target in ["http://127.0.0.2:\(port)/", "http://169.254.169.254/", "http://[::1]:\(port)/"] {
            #expect(await code(client, "http://127.0.0.1:\(port)/to/\(target)", redirects: 3) == .refused, "\(target)")
        }
        for target in ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/"] {
            #expect(
                await code(client, "http://127.0.0.1:\(port)/to/\(target)", redirects: 3) == .invalidRequest,
                "\(target)")
        }
        await client.shutDown()
        // A name is allowed by itself, not by an address that it shares.
        let named = self.client(try EgressPolicy(allowing: ["localhost:\(port)"]))
        #expect(await code(named, "http://localhost:\(port)/to/http://127.0.0.1:\(port)/", redirects: 1) == .refused)
        await named.shutDown()
    }

    @Test func `a refusal has a code and a hint, and doesn't contain the address`() async throws {
        let client = client(.publicOnly)
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(.init(url: "http://localhost:\(server.port)/"))
        }
        #expect(error?.code.description == "refused")
        #expect(error?.message.contains("egress.allow") == true)
        #expect(error?.message.contains("127.0.0.1") == false)
        #expect(error?.isRetriable == false)
        await client.shutDown()
    }

    @Test(arguments: ["", "10.0.0.0/33", "::/129", "1.2.3", "a b", "host:99999", "http://host", "*", "[::1", "host/24"])
    func `an invalid entry is an error`(entry: String) {
        #expect(throws: EgressPolicyError.self) { try EgressPolicy(allowing: [entry]) }
    }
}
