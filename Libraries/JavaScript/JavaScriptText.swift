import CJavaScriptCore

/// Strings to and from the engine, as UTF-16 and so with any character in them; lone surrogates become U+FFFD.
enum JavaScriptText {
    /// Lends the engine a string for the time of the call.
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

    /// A value as JavaScript's own `String(value)` gives it; `nil` when that throws.
    static func text(_ value: JSValueRef?, in context: JSContextRef) -> String? {
        guard let value, let string = JSValueToStringCopy(context, value, nil) else { return nil }
        defer { JSStringRelease(string) }
        return text(string)
    }

    static func value(_ text: String, in context: JSContextRef) -> JSValueRef {
        withString(text) { JSValueMakeString(context, $0) }
    }
}
