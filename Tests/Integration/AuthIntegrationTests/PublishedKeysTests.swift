import AccessTokens
import EventLoop
import Logging
import Testing

@testable import Auth

@Suite struct PublishedKeysTests {
    private static let loops = LoopGroup(1, name: "keys")

    private func keys(
        allowsPlain: Bool = true, _ change: (inout PublicationLimits) -> Void = { _ in }
    ) -> PublishedKeys {
        var limits = PublicationLimits()
        change(&limits)
        return PublishedKeys(
            client: IssuerClient(loop: Self.loops.next(), allowsPlain: allowsPlain, egress: .unrestricted),
            limits: limits, logger: Logger(label: "test"))
    }

    @Test func `a set is fetched once for concurrent callers, and kept`() async throws {
        let issuer = try await TestIssuer()
        let keys = keys()
        let url = issuer.url
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await keys.content(at: url).count } }
            for try await count in group { #expect(count == 1) }
        }
        #expect(issuer.fetches == 1)
    }

    @Test func `a set is fetched by http only if the configuration allows it`() async throws {
        let issuer = try await TestIssuer()
        let keys = keys(allowsPlain: false)
        await #expect(throws: PlainIssuerError.self) { try await keys.content(at: issuer.url) }
        await #expect(throws: PlainIssuerError.self) { try await keys.content(at: "HTTP" + issuer.url.dropFirst(4)) }
        #expect(issuer.fetches == 0)
    }

    @Test func `a rotated key is fetched when a token names it, but not at every forged name`() async throws {
        let issuer = try await TestIssuer()
        let eager = keys { $0.pause = .zero }
        let patient = keys()
        #expect(try await eager.content(at: issuer.url).map(\.id) == ["key-1"])
        #expect(try await patient.content(at: issuer.url).map(\.id) == ["key-1"])
        try issuer.rotate()
        #expect(try await eager.content(at: issuer.url).map(\.id) == ["key-1"])
        #expect(try await eager.content(at: issuer.url, isNewerWanted: true).map(\.id) == ["key-1", "key-2"])
        let fetches = issuer.fetches
        for _ in 0..<5 {
            #expect(try await patient.content(at: issuer.url, isNewerWanted: true).map(\.id) == ["key-1"])
        }
        #expect(issuer.fetches == fetches)
    }

    @Test func `the last set is used while the issuer is unavailable`() async throws {
        let issuer = try await TestIssuer(cacheControl: "no-cache, max-age=0")
        let keys = keys { limits in
            limits.pause = .zero
            limits.shortest = .zero
        }
        #expect(try await keys.content(at: issuer.url).count == 1)
        issuer.setAway(true)
        #expect(try await keys.content(at: issuer.url).count == 1)
        #expect(issuer.fetches == 2)

        let forgetful = self.keys { limits in
            limits.stale = .zero
            limits.shortest = .zero
            limits.pause = .zero
        }
        await #expect(throws: IssuerUnavailableError.self) { try await forgetful.content(at: issuer.url) }
    }
}
