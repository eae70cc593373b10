import DocumentModel
import Foundation
import Texts

/// The conversions of `$convert` and `$toUUID` between strings or numbers and binaries.
struct BinaryConversion {
    private let subtype: UInt8
    private let format: String
    private var isBigEndian = false

    init(subtype: UInt8, format: String) {
        self.subtype = subtype
        self.format = format
    }

    /// - Parameter to: the target of `$convert`; for a target other than binary data the result is `nil`.
    init?(_ to: Value?, format: Value?, byteOrder: Value?) throws(QueryError) {
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
        isBigEndian = try Self.isBigEndian(byteOrder)
    }

    private static func isBigEndian(_ order: Value?) throws(QueryError) -> Bool {
        switch order {
        case nil, .null?, "little"?: return false
        case "big"?: return true
        case .string(let name)?:
            throw QueryError(code: 9_130_002, message: "Invalid 'byteOrder' argument for $convert: \(name)")
        default: throw QueryError(code: 9_130_001, message: "$convert requires that 'byteOrder' be a string")
        }
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
        case .int32(let number) where format.isEmpty: return binary(UInt32(bitPattern: number))
        case .int64(let number) where format.isEmpty: return binary(UInt64(bitPattern: number))
        case .double(let number) where format.isEmpty: return binary(number.bitPattern)
        default: throw Self.failed("Unsupported conversion from \(value.typeName) to binData")
        }
    }

    private func binary(_ bits: some FixedWidthInteger) -> Value {
        let bytes = withUnsafeBytes(of: isBigEndian ? bits.bigEndian : bits.littleEndian) { Array($0) }
        return .binary(Binary(bytes, subtype: subtype))
    }

    /// The number with these bytes: an integer of 1, 2 or 4 bytes, or of 8 for a long; a double of 4 or 8 bytes.
    static func number(of binary: Binary, _ target: Conversion.Target, byteOrder: Value?) throws(QueryError) -> Value {
        let bytes = try isBigEndian(byteOrder) ? binary.bytes : binary.bytes.reversed()
        let bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        switch (target, bytes.count) {
        case (.double, 4): return .double(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))))
        case (.double, 8): return .double(Double(bitPattern: bits))
        case (.int, 1), (.int, 2), (.int, 4), (.long, 1), (.long, 2), (.long, 4), (.long, 8):
            let unused = 64 - bytes.count * 8
            let number = (Int64(bitPattern: bits) << unused) >> unused
            return target == .int ? .int32(Int32(truncatingIfNeeded: number)) : .int64(number)
        default: throw failed("Failed to convert \(bytes.count) bytes of binData to \(target)")
        }
    }

    private func bytes(of text: String) -> [UInt8]? {
        switch format {
        case "utf8": return Array(text.utf8)
        case "hex": return Hex.bytes(text.utf8)
        case "uuid": return subtype == 4 ? Binary(uuidString: text)?.bytes : nil
        case "base64": return Self.bytes(ofBase64: text)
        case "base64url":
            let standard = text.replacing("-", with: "+").replacing("_", with: "/")
            return Self.bytes(ofBase64: standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
        default: return nil
        }
    }

    private static func bytes(ofBase64 text: String) -> [UInt8]? { Data(base64Encoded: text).map { Array($0) } }

    /// A binary as text; without a format, a UUID in its usual form and all others in base 64.
    static func text(of binary: Binary, format: Value?) throws(QueryError) -> String {
        let isUUID = binary.subtype == 4 && binary.bytes.count == 16
        switch try name(format) ?? "auto" {
        case "hex":
            return Hex.text(binary.bytes).uppercased()
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
