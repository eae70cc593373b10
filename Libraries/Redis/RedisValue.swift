import Ccrypto
import Texts

/// A reply of the server.
public enum RedisValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case bytes([UInt8])
    /// `OK`, `QUEUED`, `PONG`
    case status(String)
    case array([RedisValue])
    /// An error in an array or a pipeline; a single command throws its error.
    case error(RedisError)

    /// The text of bytes or a status; `nil` for all other replies.
    public var string: String? {
        switch self {
        case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
        case .status(let text): text
        default: nil
        }
    }

    /// The bytes of a bulk string or a status; `nil` for all other replies.
    public var bytes: [UInt8]? {
        switch self {
        case .bytes(let bytes): bytes
        case .status(let text): Array(text.utf8)
        default: nil
        }
    }

    /// The value of an integer, or of a text that is an integer.
    public var int: Int? {
        if case .integer(let number) = self { return Int(number) }
        return string.flatMap { Int($0) }
    }

    /// The elements of an array; `nil` for all other replies.
    public var array: [RedisValue]? {
        if case .array(let elements) = self { return elements }
        return nil
    }

    public var isNull: Bool { self == .null }

    /// Returns the value, or throws it if it is an error.
    public func get() throws(RedisError) -> RedisValue {
        if case .error(let error) = self { throw error }
        return self
    }
}

/// An argument of a command: a text, a number or bytes.
public protocol RedisArgument: Sendable {
    var redisByteCount: Int { get }
    func appendRedis(to buffer: inout [UInt8])
}

extension String: RedisArgument {
    public var redisByteCount: Int { utf8.count }
    public func appendRedis(to buffer: inout [UInt8]) { buffer.append(contentsOf: utf8) }
}

extension [UInt8]: RedisArgument {
    public var redisByteCount: Int { count }
    public func appendRedis(to buffer: inout [UInt8]) { buffer.append(contentsOf: self) }
}

extension RedisArgument where Self: BinaryInteger {
    public var redisByteCount: Int { String(self).utf8.count }
    public func appendRedis(to buffer: inout [UInt8]) { buffer.append(contentsOf: String(self).utf8) }
}

extension Int: RedisArgument {}
extension Int64: RedisArgument {}
extension UInt64: RedisArgument {}

extension Double: RedisArgument {
    public var redisByteCount: Int { "\(self)".utf8.count }
    public func appendRedis(to buffer: inout [UInt8]) { buffer.append(contentsOf: "\(self)".utf8) }
}

/// A command in the form in which it is sent.
public struct RedisCommand: Sendable {
    /// The command and a NUL byte, which isn't sent.
    let wire: [UInt8]
    /// The command to send if the server doesn't know the script: with its source instead of its digest.
    let fallback: [UInt8]?

    /// `["SET", key, value, "PX", 1000]`. Commands that block (BLPOP, WAIT) or change the connection's state (SUBSCRIBE, SELECT)
    /// must not be used.
    public init(_ arguments: [any RedisArgument]) {
        wire = Self.encode(arguments)
        fallback = nil
    }

    init(wire: [UInt8]) {
        self.wire = wire
        fallback = nil
    }

    /// A call of a script: by its digest, and by its source if the server doesn't know it (then after the other commands of its
    /// pipeline).
    public init(_ script: RedisScript, keys: [String] = [], arguments: [any RedisArgument] = []) {
        let tail: [any RedisArgument] = [keys.count] + keys + arguments
        wire = Self.encode(["EVALSHA", script.digest] + tail)
        fallback = Self.encode(["EVAL", script.source] + tail)
    }

    private static func encode(_ arguments: [any RedisArgument]) -> [UInt8] {
        var buffer: [UInt8] = []
        buffer.reserveCapacity(16 + arguments.count * 32)
        appendHeader("*", arguments.count, to: &buffer)
        for argument in arguments {
            appendHeader("$", argument.redisByteCount, to: &buffer)
            argument.appendRedis(to: &buffer)
            buffer.append(13)
            buffer.append(10)
        }
        buffer.append(0)
        return buffer
    }

    private static func appendHeader(_ type: Unicode.Scalar, _ count: Int, to buffer: inout [UInt8]) {
        buffer.append(UInt8(ascii: type))
        if count < 10 {
            buffer.append(UInt8(ascii: "0") + UInt8(count))
        } else {
            buffer.append(contentsOf: String(count).utf8)
        }
        buffer.append(13)
        buffer.append(10)
    }
}

/// A Lua script and its digest. Create it once, as a constant.
public struct RedisScript: Sendable {
    public let source: String
    /// SHA-1 in hex: the name by which the server knows it.
    public let digest: String

    /// - Parameter files: the parts of one script, e.g. functions that several scripts share and the script itself.
    public init(_ files: [UInt8]...) {
        self.init(files.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n"))
    }

    public init(_ source: String) {
        self.source = source
        let text = Array(source.utf8)
        var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
        SHA1(text, text.count, &digest)
        self.digest = Hex.text(digest)
    }
}
