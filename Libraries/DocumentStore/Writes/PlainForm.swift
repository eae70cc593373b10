import DocumentModel

/// The form of a document in the column `document`, which queries and indexes use and people read: plain numbers, dates as
/// milliseconds.
///
/// Values that have no plain form stay Extended JSON: integers beyond 2^53, numbers that aren't finite, dates beyond 2^53
/// milliseconds, decimals and most of the other BSON types; a symbol is a string. A string with U+0000, which `jsonb` refuses, is
/// `{"$text": its escaped content}`. The plpgsql function `partita.plain` gives the same form.
enum PlainForm {
    private static let exact: ClosedRange<Int64> = -(1 << 53)...(1 << 53)

    static func bytes(of value: Value) -> [UInt8] {
        var bytes: [UInt8] = []
        append(value, to: &bytes)
        return bytes
    }

    static func append(_ document: Document, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        for field in document.fields {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            if !appendPlain(field.key, to: &bytes) { ExtendedJSON.append(string: field.key, to: &bytes) }
            bytes.append(UInt8(ascii: ":"))
            append(field.value, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    static func append(_ value: Value, to bytes: inout [UInt8]) {
        switch value {
        case .int32(let number): bytes.append(contentsOf: String(number).utf8)
        case .int64(let number) where exact.contains(number): bytes.append(contentsOf: String(number).utf8)
        case .double(let number) where number.isFinite: bytes.append(contentsOf: "\(number)".utf8)
        case .date(let milliseconds) where exact.contains(milliseconds):
            bytes.append(contentsOf: "{\"$date\":\(milliseconds)}".utf8)
        case .string(let text), .symbol(let text):
            if appendPlain(text, to: &bytes) { return }
            if text.utf8.contains(0) {
                var escaped: [UInt8] = []
                ExtendedJSON.append(string: text, to: &escaped)
                bytes.append(contentsOf: "{\"$text\":".utf8)
                ExtendedJSON.append(
                    string: String(decoding: escaped.dropFirst().dropLast(), as: UTF8.self), to: &bytes)
                bytes.append(UInt8(ascii: "}"))
            } else {
                ExtendedJSON.append(string: text, to: &bytes)
            }
        case .document(let document): append(document, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(element, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        default: ExtendedJSON.append(value, mode: .canonical, to: &bytes)
        }
    }

    /// Appends a string that needs no escapes, as is true of most: the general code allocates memory for each.
    ///
    /// - Returns: whether it was appended.
    private static func appendPlain(_ text: String, to bytes: inout [UInt8]) -> Bool {
        var text = text
        return text.withUTF8 { characters in
            guard characters.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) else {
                return false
            }
            bytes.append(UInt8(ascii: "\""))
            bytes.append(contentsOf: characters)
            bytes.append(UInt8(ascii: "\""))
            return true
        }
    }
}
