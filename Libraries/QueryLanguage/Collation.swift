import DocumentModel
import Foundation

/// How strings are compared other than by their bytes: for instance ignoring case or accents.
public struct Collation: Sendable {
    /// The language, such as `en`; `simple` means bytes. Foundation's rules for the locale are applied.
    public let locale: String
    /// 1: letters only; 2: letters and accents; 3: letters, accents and case.
    public let strength: Int
    /// Whether runs of digits compare as numbers.
    public let numericOrdering: Bool

    /// Reads a collation document.
    /// - Returns: `nil` for the locale `simple`.
    public init?(_ document: Document) throws(QueryError) {
        guard case .string(let locale)? = document["locale"] else {
            throw .failedToParse("BSON field 'collation.locale' is missing but a required field")
        }
        var strength: Int64 = 3
        var numericOrdering = false
        for field in document.fields {
            switch field.key {
            case "locale": break
            case "strength":
                guard let number = field.value.int64Value, (1...5).contains(number) else {
                    throw .badValue(
                        "Enumeration value '\(field.value)' for field 'collation.strength' is not a valid value.")
                }
                strength = min(number, 3)
            case "numericOrdering": numericOrdering = field.value.boolValue ?? false
            case "caseLevel", "normalization", "backwards":
                guard field.value.boolValue == false else { throw .notSupported("collation.\(field.key)") }
            case "caseFirst":
                guard field.value.stringValue == "off" else { throw .notSupported("collation.caseFirst") }
            case "alternate":
                guard field.value.stringValue == "non-ignorable" else { throw .notSupported("collation.alternate") }
            case "maxVariable", "version": break
            default: throw .failedToParse("BSON field 'collation.\(field.key)' is an unknown field.")
            }
        }
        if locale == "simple" { return nil }
        guard Self.isKnown(locale) else {
            let text = ExtendedJSON.print(.document(document), mode: .relaxed)
            throw .badValue("Field 'locale' is invalid in: \(text)")
        }
        self.locale = locale
        self.strength = Int(strength)
        self.numericOrdering = numericOrdering
    }

    private static let languages = Set(Locale.availableIdentifiers)
    /// The values that may follow `@collation=` in a locale.
    private static let variants: Set<String> = [
        "big5han", "compat", "dictionary", "ducet", "emoji", "eor", "gb2312han", "phonebook", "phonetic", "pinyin",
        "reformed", "search", "searchjl", "standard", "stroke", "traditional", "unihan", "zhuyin",
    ]

    private static func isKnown(_ locale: String) -> Bool {
        let parts = locale.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2 {
            let variant = parts[1].split(separator: "=", omittingEmptySubsequences: false)
            guard variant.count == 2, variant[0] == "collation", variants.contains(String(variant[1])) else {
                return false
            }
        }
        // ICU separates the parts of a locale with underscores, and so does MongoDB.
        return languages.contains(String(parts[0]))
    }

    /// As `Value.compare`, but strings are compared by this collation, also inside documents and arrays.
    public func compare(_ a: Value, _ b: Value) -> Int {
        switch (a, b) {
        case (.string(let a), .string(let b)): return compare(a, b)
        case (.array(let a), .array(let b)):
            for (left, right) in zip(a, b) {
                let order = compare(left, right)
                if order != 0 { return order }
            }
            return a.count - b.count
        case (.document(let a), .document(let b)):
            for (left, right) in zip(a.fields, b.fields) {
                if left.value.typeRank != right.value.typeRank { return left.value.typeRank - right.value.typeRank }
                let names = ByteOrder.compare(left.key, right.key)
                if names != 0 { return names }
                let order = compare(left.value, right.value)
                if order != 0 { return order }
            }
            return a.count - b.count
        default: return Value.compare(a, b)
        }
    }

    /// Negative, zero or positive as `a` sorts before, like or after `b`.
    public func compare(_ a: String, _ b: String) -> Int {
        var options: String.CompareOptions =
            strength == 1 ? [.caseInsensitive, .diacriticInsensitive] : [.caseInsensitive]
        if numericOrdering { options.insert(.numeric) }
        let order = a.compare(b, options: options, range: nil, locale: Locale(identifier: locale)).rawValue
        if order != 0 || strength < 3 { return order }
        // Lower case sorts first if only the case differs.
        return -ByteOrder.compare(a, b)
    }

    /// A form that is the same for strings that are equal in this collation; for hashing.
    public func key(of text: String) -> String {
        switch strength {
        case 1: text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: Locale(identifier: locale))
        case 2:
            text.folding(options: [.caseInsensitive], locale: Locale(identifier: locale))
                .precomposedStringWithCanonicalMapping
        default: text
        }
    }

    /// A form that is the same for values that are equal in this collation; for hashing.
    public func key(of value: Value) -> Value {
        switch value {
        case .string(let text), .symbol(let text): .string(key(of: text))
        case .array(let elements): .array(elements.map { key(of: $0) })
        case .document(let document):
            .document(Document(fields: document.fields.map { Document.Field($0.key, key(of: $0.value)) }))
        default: value
        }
    }
}

extension Collation? {
    /// A form that is the same for values that count as equal.
    func key(of value: Value) -> Value { self?.key(of: value) ?? value }

    func compare(_ a: Value, _ b: Value) -> Int { self?.compare(a, b) ?? Value.compare(a, b) }
}
