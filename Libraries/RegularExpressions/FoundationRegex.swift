#if !os(Linux)
    import DocumentModel
    import Foundation

    /// A regular expression of Foundation, on devices.
    ///
    /// `@unchecked Sendable`: `NSRegularExpression` is immutable and documented as safe to use from several threads.
    final class FoundationRegex: CompiledRegex, @unchecked Sendable {
        private let expression: NSRegularExpression

        init(_ expression: RegularExpression) throws(QueryError) {
            var options: NSRegularExpression.Options = []
            for option in expression.options {
                switch option {
                case "i": options.insert(.caseInsensitive)
                case "m": options.insert(.anchorsMatchLines)
                case "s": options.insert(.dotMatchesLineSeparators)
                case "x": options.insert(.allowCommentsAndWhitespace)
                default: break
                }
            }
            do {
                self.expression = try NSRegularExpression(pattern: expression.pattern, options: options)
            } catch {
                throw QueryError(code: 51091, message: "Regular expression is invalid")
            }
        }

        func matches(_ text: String) throws(QueryError) -> Bool {
            expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
        }

        func firstMatch(in text: String, from offset: Int) throws(QueryError) -> [Range<Int>?]? {
            let start = text.utf8.index(text.startIndex, offsetBy: offset)
            guard let match = expression.firstMatch(in: text, range: NSRange(start..., in: text)) else { return nil }
            return (0..<match.numberOfRanges).map { index in
                guard let range = Range(match.range(at: index), in: text) else { return nil }
                let lower = text.utf8.distance(from: text.startIndex, to: range.lowerBound)
                return lower..<lower + text.utf8.distance(from: range.lowerBound, to: range.upperBound)
            }
        }
    }
#endif
