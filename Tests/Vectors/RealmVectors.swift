import Czlib
public import DocumentModel
import Foundation

/// The files under `Tests/Vectors/Realm`: one JSON object a line, compressed.
public enum RealmVectors {
    private static let root = URL(fileURLWithPath: #filePath).appending(path: "../Realm")
        .standardizedFileURL

    struct Unreadable: Error { let name: String }

    /// The lines of a file.
    public static func lines(_ name: String) throws -> [ArraySlice<UInt8>] {
        guard let file = gzopen(root.appending(path: name).path, "rb") else { throw Unreadable(name: name) }
        defer { gzclose(file) }
        var bytes: [UInt8] = [], chunk = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = gzread(file, &chunk, UInt32(chunk.count))
            guard count >= 0 else { throw Unreadable(name: name) }
            if count == 0 { break }
            bytes += chunk[..<Int(count)]
        }
        return bytes.split(separator: UInt8(ascii: "\n"))
    }

    /// The objects of a file.
    public static func objects(_ name: String) throws -> [Document] {
        try lines(name).map { line in
            guard let document = try ExtendedJSON.parse(Array(line)).documentValue else { throw Unreadable(name: name) }
            return document
        }
    }
}

extension Document {
    /// The bytes of a field in hexadecimal.
    public func bytes(_ name: String) -> [UInt8] { self[name]?.stringValue.map(hexBytes) ?? [] }

    public func documents(_ name: String) -> [Document] { self[name]?.arrayValue?.compactMap(\.documentValue) ?? [] }

    /// The bytes of an array's texts in hexadecimal.
    public func byteArrays(_ name: String) -> [[UInt8]] {
        self[name]?.arrayValue?.compactMap { $0.stringValue.map(hexBytes) } ?? []
    }

    public func integer(_ name: String) -> Int64 { self[name]?.int64Value ?? 0 }
}

/// The bytes of a text in hexadecimal.
public func hexBytes(_ text: String) -> [UInt8] {
    func digit(_ byte: UInt8) -> UInt8 { byte < 0x3A ? byte - 0x30 : byte - 0x57 }
    let digits = Array(text.utf8)
    return stride(from: 0, to: digits.count - 1, by: 2).map { digit(digits[$0]) << 4 | digit(digits[$0 + 1]) }
}

/// The text of bytes in hexadecimal.
public func hexText(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
