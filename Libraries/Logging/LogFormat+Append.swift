extension LogFormat {
    /// Appends the event as one line, with the line break. Line breaks in an event's texts are escaped.
    package func append(_ event: LogEvent, to bytes: inout [UInt8]) {
        switch self {
        case .json: appendJSON(event, to: &bytes)
        case .text: appendText(event, to: &bytes)
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    private func appendJSON(_ event: LogEvent, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "{\"time\":\"".utf8)
        event.time.append(to: &bytes)
        bytes.append(contentsOf: "\",\"level\":\"".utf8)
        bytes.append(contentsOf: event.level.rawValue.utf8)
        bytes.append(contentsOf: "\",\"label\":".utf8)
        appendQuoted(event.label, to: &bytes)
        bytes.append(contentsOf: ",\"message\":".utf8)
        appendQuoted(event.message.description, to: &bytes)
        if !event.metadata.isEmpty {
            bytes.append(contentsOf: ",\"metadata\":".utf8)
            appendObject(event.metadata, to: &bytes)
        }
        bytes.append(contentsOf: ",\"source\":\"".utf8)
        bytes.append(contentsOf: event.file.utf8)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(contentsOf: String(event.line).utf8)
        bytes.append(contentsOf: "\"}".utf8)
    }

    private func appendText(_ event: LogEvent, to bytes: inout [UInt8]) {
        event.time.append(to: &bytes)
        bytes.append(UInt8(ascii: " "))
        bytes.append(contentsOf: event.level.rawValue.uppercased().utf8)
        for _ in event.level.rawValue.utf8.count..<9 { bytes.append(UInt8(ascii: " ")) }
        appendEscaped(event.label, to: &bytes)
        bytes.append(contentsOf: ": ".utf8)
        appendEscaped(event.message.description, to: &bytes)
        for (key, value) in event.metadata.sorted(by: { $0.key < $1.key }) {
            bytes.append(UInt8(ascii: " "))
            appendEscaped(key, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            let text = value.description
            if text.isEmpty || text.utf8.contains(UInt8(ascii: " ")) {
                appendQuoted(text, to: &bytes)
            } else {
                appendEscaped(text, to: &bytes)
            }
        }
    }

    private func appendObject(_ values: Logger.Metadata, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
        var separator = false
        // Sorted, so that lines with the same keys look alike.
        for key in values.keys.sorted() {
            guard let value = values[key] else { continue }
            if separator { bytes.append(UInt8(ascii: ",")) }
            separator = true
            appendQuoted(key, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            appendValue(value, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private func appendValue(_ value: Logger.MetadataValue, to bytes: inout [UInt8]) {
        switch value {
        case .string(let text): appendQuoted(text, to: &bytes)
        case .stringConvertible(let value):
            // Casts to concrete types, because one to `any BinaryInteger` costs more than the rest of the line.
            switch value {
            case let number as Int: bytes.append(contentsOf: number.description.utf8)
            case let number as Double where number.isFinite: bytes.append(contentsOf: number.description.utf8)
            case is Bool, is Int64, is UInt64, is UInt, is Int32, is UInt32, is Int16, is UInt16, is Int8, is UInt8:
                bytes.append(contentsOf: value.description.utf8)
            default: appendQuoted(value.description, to: &bytes)
            }
        case .dictionary(let values): appendObject(values, to: &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                appendValue(value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        }
    }

    private func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        appendEscaped(text, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Escapes as in a JSON string: quotes, backslashes and control characters.
    private func appendEscaped(_ text: String, to bytes: inout [UInt8]) {
        var text = text
        text.withUTF8 { utf8 in
            var start = 0
            for index in utf8.indices {
                let byte = utf8[index]
                if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte != 0x7f { continue }
                bytes.append(contentsOf: utf8[start..<index])
                appendEscape(byte, to: &bytes)
                start = index + 1
            }
            bytes.append(contentsOf: utf8[start...])
        }
    }

    private func appendEscape(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case UInt8(ascii: "\n"): bytes.append(UInt8(ascii: "n"))
        case UInt8(ascii: "\r"): bytes.append(UInt8(ascii: "r"))
        case UInt8(ascii: "\t"): bytes.append(UInt8(ascii: "t"))
        default:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(hexDigit(byte >> 4))
            bytes.append(hexDigit(byte & 15))
        }
    }

    private func hexDigit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
    }
}
