import DocumentModel
import Foundation
import Texts

/// The keys that `partita.index_key` makes, computed in Swift.
enum IndexKey {
    /// The first byte of the keys of values without an exact key: it sorts behind all exact keys.
    static let irregular: UInt8 = 0xf0

    /// The key of a value that has an exact one; `nil` for others.
    static func bytes(of value: Value) -> [UInt8]? {
        switch value {
        case .null: return [0x10]
        case .int32(let number): return number64(Double(number))
        case .int64(let number): return abs(number) <= 1 << 53 ? number64(Double(number)) : nil
        case .double(let number): return number64(number)
        case .string(let text), .symbol(let text):
            return text.utf8.count <= 200 && !text.utf8.contains(0) ? [0x30] + text.utf8 : nil
        case .binary(let binary) where binary.bytes.count <= 200:
            return [0x50] + bigEndian(UInt32(binary.bytes.count)) + [binary.subtype] + binary.bytes
        case .objectId(let id): return [0x60] + bigEndian(id.high) + bigEndian(id.low)
        case .bool(let flag): return [0x70, flag ? 1 : 0]
        case .date(let milliseconds): return [0x80] + bigEndian(UInt64(bitPattern: milliseconds) ^ 1 << 63)
        default: return nil
        }
    }

    /// The keys that values equal to a value may have; `nil` for a value whose keys Postgres has to compute.
    static func equals(_ value: Value) -> [[UInt8]]? {
        switch value {
        case .array: return [[array]]
        case .null: return [[0x10], [irregular]]
        case .int32, .int64, .double:
            // A decimal that isn't exactly a double, or an integer beyond 2^53, has the key of its nearest double.
            let number = number64(value.doubleValue ?? .nan)
            return [number, [0xf1] + number.dropFirst()]
        default: return bytes(of: value).map { [$0] }
        }
    }

    /// The key of an array at the path or along it.
    static let array: UInt8 = 0xff

    static func number64(_ number: Double) -> [UInt8] {
        if number.isNaN { return [0x20] + [UInt8](repeating: 0, count: 8) }
        let bits = number == 0 ? 0 : number.bitPattern
        return [0x20] + bigEndian(bits >> 63 == 0 ? bits ^ 1 << 63 : ~bits)
    }

    private static func bigEndian<I: FixedWidthInteger>(_ number: I) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    /// The value of `Key (_id)=(…) already exists.`; `nil` if another index refused the row.
    static func id(inDetail detail: String) -> Value? {
        guard let start = detail.range(of: "(_id)=("), let end = detail.range(of: ")", options: .backwards),
            start.upperBound <= end.lowerBound
        else { return nil }
        return Value(idText: String(detail[start.upperBound..<end.lowerBound]))
    }

    /// The values of `Key (…)=(\x…, \x…) already exists.`; null for a value without an exact key.
    static func values(inDetail detail: String) -> [Value] {
        guard let start = detail.range(of: ")=("), let end = detail.range(of: ")", options: .backwards),
            start.upperBound <= end.lowerBound
        else { return [] }
        return detail[start.upperBound..<end.lowerBound].components(separatedBy: ", ").map { text in
            guard text.hasPrefix("\\x") else { return .null }
            return Hex.bytes(text.utf8.dropFirst(2)).map { value(of: $0) } ?? .null
        }
    }

    private static func value(of key: [UInt8]) -> Value {
        let content = key.dropFirst()
        switch key.first {
        case 0x20 where content.count == 8:
            let bits = integer(content)
            let number = Double(bitPattern: bits >> 63 == 1 ? bits ^ 1 << 63 : ~bits)
            return Int32(exactly: number).map(Value.int32) ?? Int64(exactly: number).map(Value.int64) ?? .double(number)
        case 0x30: return .string(String(decoding: content, as: UTF8.self))
        // The first 180 bytes of a long text.
        case 0xf2: return .string(String(decoding: content.dropLast(16), as: UTF8.self))
        case 0x50 where content.count > 5:
            return .binary(Binary(Array(content.dropFirst(5)), subtype: content.dropFirst(4).first ?? 0))
        case 0x60 where content.count == 12:
            return .objectId(
                ObjectId(high: integer(content.prefix(8)), low: UInt32(truncatingIfNeeded: integer(content.suffix(4)))))
        case 0x70: return .bool(content.first == 1)
        case 0x80 where content.count == 8: return .date(Int64(bitPattern: integer(content) ^ 1 << 63))
        default: return .null
        }
    }

    private static func integer(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
