import Foundation
import Texts

/// The keys with which stored secrets are encrypted: the first one encrypts, and all of them decrypt.
///
/// A key is derived from a secret that the administrator configures. A ciphertext contains the id of its key, so that a key can be
/// replaced: the new one is added in front, stored secrets are encrypted again (`isCurrent`), and when none uses the old key any
/// more, it is removed.
public struct KeyRing: Sendable {
    private struct Key {
        let id: String
        let bytes: [UInt8]
        /// The key as derived by version 1, which was used only for signing keys.
        let formerBytes: [UInt8]

        init(_ secret: String) {
            id = Hex.text(SecretBox.digest("partita.key-id/" + secret).prefix(4))
            bytes = SecretBox.digest("partita.secrets/" + secret)
            formerBytes = SecretBox.digest("partita.auth.signing-keys/" + secret)
        }
    }

    private static let mark = "secretbox.v2:"
    private static let formerMark = "secretbox.v1:"
    private let keys: [Key]

    /// A ring without keys: it can't encrypt, and can read only secrets that are stored in plain text.
    public static let empty = KeyRing([])

    /// - Parameter secrets: the current one first; empty ones and duplicates are ignored.
    public init(_ secrets: [String]) {
        var seen: Set<[UInt8]> = []
        keys = secrets.filter { !$0.isEmpty && seen.insert(Array($0.utf8)).inserted }.map { Key($0) }
    }

    public var isEmpty: Bool { keys.isEmpty }

    /// The ids of the keys, the current one first: eight hexadecimal digits, which reveal nothing about a key.
    public var ids: [String] { keys.map(\.id) }

    /// Encrypts with the current key.
    /// - Throws: `KeyRingError` with `noKey` when there is none.
    public func seal(_ text: String) throws(KeyRingError) -> String {
        guard let key = keys.first else { throw KeyRingError(.noKey, "no encryption key is configured") }
        return "\(Self.mark)\(key.id):" + Data(SecretBox.seal(Array(text.utf8), key: key.bytes)).base64EncodedString()
    }

    /// - Parameter stored: a result of `seal`, also of an older version; or plain text, as stored before there was a key.
    /// - Throws: `KeyRingError` with `keyUnknown` when it was encrypted with a key that isn't in the ring, `damaged` when it was
    ///   altered.
    public func open(_ stored: String) throws(KeyRingError) -> String {
        switch KeyUse(stored) {
        case .plain: return stored
        case .unnamed:
            let sealed = try Self.bytes(stored.dropFirst(Self.formerMark.count))
            for key in keys {
                if let bytes = SecretBox.open(sealed, key: key.formerBytes) { return try Self.text(bytes) }
            }
            throw KeyRingError(.keyUnknown, "it was encrypted with a key that isn't configured")
        case .key(let id):
            guard let key = keys.first(where: { $0.id == id }) else {
                throw KeyRingError(.keyUnknown, "it was encrypted with the key \(id), which isn't configured")
            }
            let sealed = try Self.bytes(stored.dropFirst(Self.mark.count + id.utf8.count + 1))
            guard let bytes = SecretBox.open(sealed, key: key.bytes) else {
                throw KeyRingError(.damaged, "it isn't what was stored")
            }
            return try Self.text(bytes)
        }
    }

    /// Whether a stored secret is encrypted with the current key.
    public func isCurrent(_ stored: String) -> Bool { keys.first.map { KeyUse(stored) == .key($0.id) } ?? false }

    /// Why this ring can't read all stored secrets, and what to do; `nil` when it can.
    /// - Parameter uses: the numbers of stored secrets by how they are encrypted.
    public func problem(with uses: [KeyUse: Int]) -> String? {
        let count = uses.values.reduce(0, +)
        guard count > 0 else { return nil }
        guard !keys.isEmpty else {
            return "must be set, since \(count) stored secrets need it (`openssl rand -hex 32` makes one)"
        }
        for case (.key(let id), let count) in uses where !ids.contains(id) {
            return
                "\(count) stored secrets are encrypted with the key \(id), which isn't among these (\(ids.joined(separator: ", "))): add it after the current one"
        }
        return nil
    }

    /// Keys for another use, in the order of the ring.
    func derived(_ prefix: String) -> [[UInt8]] {
        keys.map { SecretBox.digest(prefix + Data($0.bytes).base64EncodedString()) }
    }

    private static func bytes(_ text: Substring) throws(KeyRingError) -> [UInt8] {
        guard let data = Data(base64Encoded: String(text)) else {
            throw KeyRingError(.damaged, "it isn't what was stored")
        }
        return Array(data)
    }

    private static func text(_ bytes: [UInt8]) throws(KeyRingError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw KeyRingError(.damaged, "it isn't text") }
        return text
    }

    /// How a secret is stored, according to its prefix.
    public enum KeyUse: Hashable, Sendable {
        /// Not encrypted.
        case plain
        /// Encrypted by version 1, which doesn't name the key.
        case unnamed
        /// Encrypted with the key of this id.
        case key(String)

        /// - Parameter stored: the text, or its first 40 bytes.
        public init(_ stored: String) {
            if stored.hasPrefix(KeyRing.mark) {
                let rest = stored.dropFirst(KeyRing.mark.count).prefix { $0 != ":" }
                self = .key(String(rest))
            } else {
                self = stored.hasPrefix(KeyRing.formerMark) ? .unnamed : .plain
            }
        }
    }
}

/// Why a secret can't be encrypted or read.
public struct KeyRingError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Hashable, Sendable {
        case noKey = "no-key"
        case keyUnknown = "key-unknown"
        case damaged
    }

    public let code: Code
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code.rawValue): \(message)" }
}
