import DocumentModel
import Foundation

/// A public key with one handle of the JOSE library for each thread that verifies with it concurrently. A handle can be used by
/// only one thread at a time, and a verification takes about 50 microseconds.
///
/// `@unchecked Sendable`: the idle handles are only touched under the lock.
final class VerificationKey: @unchecked Sendable {
    let publicKey: TokenPublicKey
    private let jwk: String
    private let lock = NSLock()
    private var idle: [JWKHandle]
    private static let idleLimit = 16

    init(_ publicKey: TokenPublicKey) throws(AccessTokenError) {
        self.publicKey = publicKey
        jwk = ExtendedJSON.print(publicKey.jwk, mode: .relaxed)
        idle = [try JWKHandle(json: jwk)]
    }

    func verifiedPayload(of token: String) throws(AccessTokenError) -> [UInt8] {
        let handle = if let handle = lock.withLock({ idle.popLast() }) { handle } else { try JWKHandle(json: jwk) }
        defer { lock.withLock { if idle.count < Self.idleLimit { idle.append(handle) } } }
        return try handle.verifiedPayload(of: token)
    }
}
