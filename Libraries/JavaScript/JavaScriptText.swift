import CJavaScriptCore

/// Converts strings for the engine, as UTF-16 and so with all characters; lone surrogates become U+FFFD.
enum JavaScriptText {
    /// Passes a string of the engine to `body`; it is valid only during the call.
    static func withString<R>(_ text: String, _ body: (JSStringRef) -> R) -> R {
        let string: JSStringRef = string(text)
        defer { JSStringRelease(string) }
        return body(string)
    }

    /// A string of the engine, which the caller releases. The engine keeps ASCII in half the memory, and reads it faster.
    private static func string(_ text: String) -> JSStringRef {
        var text = text
        let ascii: JSStringRef? = text.withUTF8 { bytes in
            guard bytes.allSatisfy({ $0 < 0x80 && $0 != 0 }) else { return nil }
            return withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { buffer in
                for (index, byte) in bytes.enumerated() { buffer[index] = CChar(bitPattern: byte) }
                buffer[bytes.count] = 0
                return JSStringCreateWithUTF8CString(buffer.baseAddress)
            }
        }
        if let ascii { return ascii }
        let characters = Array(text.utf16)
        return JSStringCreateWithCharacters(characters, characters.count)
    }

    static func text(_ string: JSStringRef) -> String {
        let count = JSStringGetLength(string)
        // An ASCII text has as many bytes as characters, and a zero at its end. Any other doesn't fit, or has other bytes.
        let ascii = String(unsafeUninitializedCapacity: count + 1) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { buffer in
                guard JSStringGetUTF8CString(string, buffer.baseAddress, count + 1) == count + 1,
                    buffer.prefix(count).allSatisfy({ $0 >= 0 })
                else { return 0 }
                return count
            }
        }
        if ascii.utf8.count == count { return ascii }
        guard let characters = JSStringGetCharactersPtr(string) else { return "" }
        return String(decoding: UnsafeBufferPointer(start: characters, count: count), as: UTF16.self)
    }

    /// A value's text, as JavaScript's own `String(value)` returns it; `nil` when that throws.
    static func text(_ value: JSValueRef?, in context: JSContextRef) -> String? {
        guard let value, let string = JSValueToStringCopy(context, value, nil) else { return nil }
        defer { JSStringRelease(string) }
        return text(string)
    }

    static func value(_ text: String, in context: JSContextRef) -> JSValueRef {
        withString(text) { JSValueMakeString(context, $0) }
    }
}
