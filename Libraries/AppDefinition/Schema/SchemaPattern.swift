import Foundation

/// A regular expression of a schema (`pattern`), matched anywhere in the text.
struct SchemaPattern: Sendable {
    let source: String
    private let expression: NSRegularExpression

    init?(_ source: String) {
        guard let expression = try? NSRegularExpression(pattern: source) else { return nil }  // nil says why
        self.source = source
        self.expression = expression
    }

    func matches(_ text: String) -> Bool {
        expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
    }
}
