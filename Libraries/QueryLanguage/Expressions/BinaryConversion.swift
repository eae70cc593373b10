import DocumentModel
import Foundation

/// Conversions between strings and binaries, as `$convert` and `$toUUID` do them.
struct BinaryConversion {
    private let subtype: UInt8
    private let format: String

    init(subtype: UInt8, format: String) {
        self.subtype = subtype
        self.format = format
    }

    /// - Parameter to: the target of `$convert`; another one than binary data gives `nil`.
    init?(_ to: Value?, format: Value?) throws(QueryError) {
        switch to {
        case .string("binData")?, .int32(5)?: subtype = 0
        case .document(let document)?:
            guard document["type"] == "binData" || document["type"] == 5 else { return nil }
            guard let number = (document["subtype"] ?? 0).int64Value, let subtype = UInt8(exactly: number) else {
                throw QueryError(code: 4_341_106, message: "In $convert, 'subtype' must be an integer from 0 to 255")
            }
            self.subtype = subtype
        default: return nil
        }
        self.format = try Self.name(format) ?? ""
    }

    private static func name(_ format: Value?) throws(QueryError) -> String? {
        guard let format, !format.isNull else { return nil }
        guard case .string(let name) = format, ["auto", "base64", "base64url", "hex", "utf8", "uuid"].contains(name)
        else {
            throw QueryError(code: 4_341_125, message: "Invalid 'format' argument for $convert: \(format)")
        }
        return name
    }

    private static func failed(_ message: String) -> QueryError {
        QueryError(code: QueryError.conversionFailure, message: "\(message) in $convert with no onError value")
    }

    func convert(_ value: Value) throws(QueryError) -> Value {
        switch value {
        case .binary(let binary):
            guard binary.subtype == subtype else {
                throw Self.failed("Conversions between binary subtypes are not allowed")
            }
            return value
        case .string(let text):
            guard !format.isEmpty else {
                throw QueryError(code: 4_341_115, message: "Conversion of a string to binData needs a 'format'")
            }
            guard let bytes = bytes(of: text) else {
                throw Self.failed("Input string '\(text)' is not a valid \(format) string")
            }
            return .binary(Binary(bytes, subtype: subtype))
        default: throw Self.failed("Unsupported conversion from \(value.typeName) to binData")
        }
    }

    private func bytes(of text: String) -> [UInt8]? {
        switch format {
        case "utf8": return Array(text.utf8)
        case "hex": return Self.bytes(ofHex: text)
        case "uuid": return subtype == 4 ? Binary(uuidString: text)?.bytes : nil
        case "base64": return Self.bytes(ofBase64: text)
        case "base64url":
            let standard = text.replacing("-", with: "+").replacing("_", with: "/")
            return Self.bytes(ofBase64: standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
        default: return nil
        }
    }

    private static func bytes(ofHex text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16),
                digits[place] != UInt8(ascii: "+")
            else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    private static func bytes(ofBase64 text: String) -> [UInt8]? { Data(base64Encoded: text).map { Array($0) } }

    /// A binary as text; without a format a UUID as such and all others in base 64.
    static func text(of binary: Binary, format: Value?) throws(QueryError) -> String {
        let isUUID = binary.subtype == 4 && binary.bytes.count == 16
        switch try name(format) ?? "auto" {
        case "hex":
            return binary.bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }
                .joined()
        case "utf8":
            guard let text = String(validating: binary.bytes, as: UTF8.self) else {
                throw failed("BinData is not valid UTF-8")
            }
            return text
        case "uuid":
            guard isUUID else { throw failed("BinData is no UUID") }
            return binary.uuidString
        case "base64url":
            return base64(binary).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        case "auto" where isUUID: return binary.uuidString
        default: return base64(binary)
        }
    }

    private static func base64(_ binary: Binary) -> String { Data(binary.bytes).base64EncodedString() }
}
