import CJavaScriptCore

/// Converts strings for the engine, as UTF-16 and so with all characters; lone surrogates become U+FFFD.
enum JavaScriptText {
    /// Passes a string of the engine to `body`; it is valid only during the call.
    static func withString<R>(_ text: String, _ body: (JSStringRef) -> R) -> R {
        let characters = Array(text.utf16)
        let string: JSStringRef = JSStringCreateWithCharacters(characters, characters.count)
        defer { JSStringRelease(string) }
        return body(string)
    }

    static func text(_ string: JSStringRef) -> String {
        guard let characters = JSStringGetCharactersPtr(string) else { return "" }
        let count = JSStringGetLength(string)
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
