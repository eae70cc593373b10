private import Ccjose
import DocumentModel
import EventLoop
import Foundation
import HTTPServer

/// A developer's own issuer of tokens: signs with RS256, and publishes its key set by HTTP.
final class TestIssuer: Sendable {
    private struct State {
        var keys: [IssuerKey]
        var fetches = 0
        var isAway = false
    }

    /// A running server must be kept referenced.
    private static let all = Locked<[TestIssuer]>([])
    private static let loops = LoopGroup(1, name: "issuer")
    private let server: HTTPServer
    private let state: Locked<State>

    /// The URL of the key set.
    var url: String { "http://127.0.0.1:\(server.port)/jwks.json" }
    /// How often the set was requested.
    var fetches: Int { state.withLock { $0.fetches } }

    /// It serves as long as the test process.
    init(cacheControl: String = "max-age=60") async throws {
        let state = Locked(State(keys: [try IssuerKey(id: "key-1")]))
        var router = HTTPRouter()
        router.get("/jwks.json") { _ in
            try state.withLock { state in
                state.fetches += 1
                if state.isAway { return HTTPResponse(status: 503) }
                let keys = try state.keys.map { try $0.json(isPrivate: false) }.joined(separator: ",")
                var response = HTTPResponse.json("{\"keys\":[\(keys)]}")
                response.headers["Cache-Control"] = cacheControl
                return response
            }
        }
        server = HTTPServer(
            HTTPServerConfiguration(address: "127.0.0.1", port: 0), router: router, loops: Self.loops.loops)
        self.state = state
        try await server.start()
        Self.all.withLock { $0.append(self) }
    }

    /// Signs with the newest key.
    func token(
        _ subject: String, audience: String = "shop", lifetime: Int64 = 300, keyId: String? = nil,
        more: Document = Document()
    ) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        var claims: Document = [
            "iss": "https://issuer.example", "sub": .string(subject), "aud": .string(audience),
            "iat": .int64(now - 400),
            "exp": .int64(now + lifetime),
        ]
        for field in more.fields { claims[field.key] = field.value }
        let payload = Array(ExtendedJSON.print(.document(claims), mode: .relaxed).utf8)
        return try state.withLock { state in
            guard let key = state.keys.last else { throw IssuerError() }
            return try key.sign(payload, keyId: keyId ?? key.id)
        }
    }

    /// Makes a new key; the old ones stay published.
    func rotate() throws {
        try state.withLock { $0.keys.append(try IssuerKey(id: "key-\($0.keys.count + 1)")) }
    }

    func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }
}

/// An RSA key pair. `@unchecked Sendable`: the issuer uses it under its lock.
private final class IssuerKey: @unchecked Sendable {
    let id: String
    private let key: OpaquePointer

    init(id: String) throws {
        let exponent: [UInt8] = [1, 0, 1]
        guard let key = cjose_jwk_create_RSA_random(2048, exponent, exponent.count, nil),
            cjose_jwk_set_kid(key, id, id.utf8.count, nil)
        else { throw IssuerError() }
        self.id = id
        self.key = key
    }

    deinit { _ = cjose_jwk_release(key) }

    func json(isPrivate: Bool) throws -> String {
        guard let text = cjose_jwk_to_json(key, isPrivate, nil) else { throw IssuerError() }
        defer { cjose_get_dealloc()?(text) }
        return String(cString: text)
    }

    func sign(_ payload: [UInt8], keyId: String) throws -> String {
        guard let header = cjose_header_new(nil) else { throw IssuerError() }
        defer { cjose_header_release(header) }
        guard cjose_header_set(header, "alg", "RS256", nil), cjose_header_set(header, "kid", keyId, nil),
            let token = cjose_jws_sign(key, header, payload, payload.count, nil)
        else { throw IssuerError() }
        defer { cjose_jws_release(token) }
        var text: UnsafePointer<CChar>?
        guard cjose_jws_export(token, &text, nil), let text else { throw IssuerError() }
        return String(cString: text)
    }
}

struct IssuerError: Error {}
