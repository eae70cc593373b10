import DocumentModel
import Foundation

/// JSON without the type markers of Extended JSON, which the data API returns by default: ids are hexadecimal digits, dates ISO
/// 8601, decimals strings. Numbers that JSON can't represent are strings with their names (`NaN`).
enum PlainJSON {
    static func encode(_ document: Document) -> [UInt8] {
        var bytes: [UInt8] = []
        ExtendedJSON.append(.document(plain(document)), mode: .relaxed, to: &bytes)
        return bytes
    }

    private static func plain(_ document: Document) -> Document {
        Document(fields: document.fields.map { .init($0.key, plain($0.value)) })
    }

    private static func plain(_ value: Value) -> Value {
        switch value {
        case .document(let document): .document(plain(document))
        case .array(let elements): .array(elements.map(plain))
        case .double(let number) where number.isNaN: .string("NaN")
        case .double(let number) where number.isInfinite: .string(number < 0 ? "-Infinity" : "Infinity")
        case .objectId(let id): .string(id.hexString)
        case .date(let milliseconds): .string(ISODate.text(milliseconds))
        case .decimal128(let number): .string(number.description)
        case .binary(let binary):
            ["Subtype": .int32(Int32(binary.subtype)), "Data": .string(Data(binary.bytes).base64EncodedString())]
        case .regex(let regex): ["Pattern": .string(regex.pattern), "Options": .string(regex.options)]
        case .timestamp(let time): ["T": .int64(Int64(time.seconds)), "I": .int64(Int64(time.increment))]
        case .minKey, .maxKey: [:]
        case .undefined: .null
        case .symbol(let text): .string(text)
        case .code(let code): .string(code.source)
        case .dbPointer(let pointer): .string(pointer.id.hexString)
        case .null, .bool, .int32, .int64, .double, .string: value
        }
    }
}
