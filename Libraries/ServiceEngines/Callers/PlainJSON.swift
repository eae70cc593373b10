public import DocumentModel
import Foundation
public import HTTPServer

/// JSON without the type markers of Extended JSON, which the data API and HTTPS endpoints return by default: ids are hexadecimal digits, dates ISO
/// 8601, decimals strings. Numbers that JSON can't represent are strings with their names (`NaN`).
public enum PlainJSON {
    /// The JSON text of a value.
    public static func encode(_ value: Value) -> [UInt8] {
        var bytes: [UInt8] = []
        ExtendedJSON.append(plain(value), mode: .relaxed, to: &bytes)
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

extension HTTPRequest {
    /// Whether the client asks for Extended JSON, by `Accept: application/ejson`.
    /// - Parameter usual: the answer for a request that asks for neither.
    public func acceptsExtendedJSON(default usual: Bool) -> Bool {
        for accepted in (headers["accept"] ?? "").split(separator: ",") {
            switch Self.mediaType(String(accepted)) {
            case "application/ejson": return true
            case "application/json": return false
            default: continue
            }
        }
        return usual
    }

    /// The media type of a header field, without its parameters, in lower case.
    public static func mediaType(_ field: String?) -> String {
        (field ?? "").split(separator: ";").first.map { $0.trimmingCharacters(in: .whitespaces).lowercased() } ?? ""
    }
}

extension HTTPResponse {
    /// A value as plain JSON, or as canonical Extended JSON (`application/ejson`).
    public static func value(_ value: Value, status: Int = 200, isExtended: Bool) -> HTTPResponse {
        guard isExtended else { return .json(PlainJSON.encode(value), status: status) }
        var bytes: [UInt8] = []
        ExtendedJSON.append(value, to: &bytes)
        return HTTPResponse(status: status, headers: ["Content-Type": "application/ejson"], body: bytes)
    }
}
