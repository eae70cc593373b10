import DocumentModel
import RealmMessages
import RealmSync
import Vectors

/// What a server does otherwise than the trace demands.
struct RealmTraceMismatch: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

func demand(_ holds: Bool, _ otherwise: @autoclosure () throws -> String) throws {
    if !holds { throw RealmTraceMismatch(try otherwise()) }
}

/// A changeset of an upload or a download. In an upload, `origin` is 0.
struct TracedChangeset: CustomStringConvertible {
    var clientVersion: UInt64
    var serverVersion: UInt64
    var time: UInt64
    var origin: UInt64
    var bytes: [UInt8]

    var description: String { "\(clientVersion) \(serverVersion) \(time) \(origin) \(hexText(bytes))" }

    func decoded() throws -> RealmSync.Changeset { try RealmSync.Changeset(bytes) }

    /// Whether it has these instructions, and is as old. Where strings stand in the bytes may differ.
    func isSame(as other: RealmSync.Changeset, of time: UInt64) throws -> Bool {
        try decoded().encoded() == other.encoded() && self.time == time
    }
}

extension RealmMessage {
    init(line: String, body: [UInt8]) { self.init(Array("\(line)\n".utf8) + body) }

    /// The message without the texts of an error, for a report.
    var line: String { "\(name) \(numbers.map(String.init).joined(separator: " "))" }

    /// The session's number; 0 for the connection.
    var session: UInt64 {
        switch name {
        case "json_error": numbers.count == 3 ? numbers[2] : 0
        case "ping", "pong": 0
        default: numbers.first ?? 0
        }
    }

    /// The bytes of a download of the gateway, whose sizes have to be those of its line.
    func downloadedBytes() throws -> [UInt8] {
        try demand(name == "download" && numbers.count == 11, "\(line) isn't a download")
        if numbers[8] == 0 {
            try demand(numbers[9] == UInt64(body.count) && numbers[10] == 0, "\(line) has \(body.count) bytes")
            return body
        }
        try demand(numbers[8] == 1 && numbers[10] == UInt64(body.count), "\(line) has \(body.count) bytes")
        guard let bytes = ZlibStream.inflate(body, Int(numbers[9])), bytes.count == Int(numbers[9]) else {
            throw RealmTraceMismatch("\(line) isn't compressed as it says")
        }
        return bytes
    }

    /// The changesets in the bytes of a download.
    static func downloaded(_ bytes: [UInt8]) throws -> [TracedChangeset] {
        try parts(of: bytes, fields: 6).map { numbers, bytes in
            TracedChangeset(
                clientVersion: numbers[1], serverVersion: numbers[0], time: numbers[2], origin: numbers[3],
                bytes: bytes)
        }
    }

    /// The changesets in the bytes of an upload.
    static func uploaded(_ bytes: [UInt8]) throws -> [TracedChangeset] {
        try parts(of: bytes, fields: 5).map { numbers, bytes in
            TracedChangeset(
                clientVersion: numbers[0], serverVersion: numbers[1], time: numbers[2], origin: numbers[3],
                bytes: bytes)
        }
    }

    /// Numbers, the last of which is the size of the bytes that follow.
    private static func parts(of bytes: [UInt8], fields: Int) throws -> [(numbers: [UInt64], bytes: [UInt8])] {
        var rest = bytes[...], parts: [(numbers: [UInt64], bytes: [UInt8])] = []
        while !rest.isEmpty {
            var numbers: [UInt64] = []
            while numbers.count < fields {
                let word = rest.prefix { $0 != UInt8(ascii: " ") }
                guard let number = UInt64(String(decoding: word, as: UTF8.self)) else {
                    throw RealmTraceMismatch("a changeset's numbers can't be read after \(numbers)")
                }
                numbers.append(number)
                rest = rest.dropFirst(word.count + 1)
            }
            let size = Int(numbers[fields - 1])
            try demand(size <= rest.count, "a changeset ends before its size, \(size)")
            parts.append((numbers, Array(rest.prefix(size))))
            rest = rest.dropFirst(size)
        }
        return parts
    }
}

extension RealmSync.Changeset {
    /// Whether it only makes classes and properties.
    var isOfSchema: Bool {
        instructions.allSatisfy {
            switch $0 {
            case .addTable, .addColumn: true
            default: false
            }
        }
    }
}
