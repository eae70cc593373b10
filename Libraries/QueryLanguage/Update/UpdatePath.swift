import DocumentModel

/// A path of an update: names, indexes, and placeholders for elements of arrays.
public struct UpdatePath: Hashable, Sendable, CustomStringConvertible {
    /// One part of the path.
    public enum Step: Hashable, Sendable {
        /// A field's name, or an index into an array.
        case name(Path.Component)
        /// `$`: the element that made the filter match.
        case positional
        /// `$[]`: all elements.
        case all
        /// `$[name]`: the elements that the array filter of this name accepts.
        case filtered(ExactText)
    }

    /// The parts in their order.
    public let steps: [Step]
    /// The dotted text.
    @ExactText public private(set) var description: String

    /// The most parts of a path, which is also the maximum depth of documents.
    public static let maximumParts = 100

    /// Whether a path, of an update or a filter, has no more parts than a document has levels. The time to process a path grows
    /// with the square of its parts.
    public static func isShortEnough(_ text: String) -> Bool {
        text.utf8.lazy.filter { $0 == 0x2E }.count < maximumParts
    }

    /// Parses and checks a path.
    public init(_ text: String) throws(QueryError) {
        guard !text.isEmpty else { throw QueryError(code: 56, message: "An empty update path is not valid.") }
        guard Self.isShortEnough(text) else { throw QueryError(code: 15, message: "FieldPath is too long") }
        let components = Path(text).components
        var steps: [Step] = []
        for component in components {
            let name = component.name
            guard !name.isEmpty else {
                throw QueryError(
                    code: 56, message: "The update path '\(text)' contains an empty field name, which is not allowed.")
            }
            if name == "$" {
                steps.append(.positional)
            } else if name == "$[]" {
                steps.append(.all)
            } else if name.hasPrefix("$["), name.hasSuffix("]") {
                steps.append(.filtered(ExactText(name.dropFirst(2).dropLast())))
            } else {
                guard name.utf8.first != UInt8(ascii: "$") || ["$ref", "$id", "$db"].contains(name) else {
                    throw QueryError(
                        code: 52,
                        message:
                            "The dollar ($) prefixed field '\(name)' in '\(text)' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith."
                    )
                }
                steps.append(.name(component))
            }
        }
        guard case .name? = steps.first else {
            throw QueryError(
                code: 2,
                message:
                    "Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '\(text)'"
            )
        }
        self.steps = steps
        description = text
    }

    /// The path if it has only names; `nil` if it has a placeholder.
    public var plain: Path? {
        var components: [Path.Component] = []
        for step in steps {
            guard case .name(let component) = step else { return nil }
            components.append(component)
        }
        return Path(components: components)
    }

    /// Whether the paths are equal or one is above the other; placeholders are equal only to themselves.
    func conflicts(with other: UpdatePath) -> Bool { zip(steps, other.steps).allSatisfy { $0 == $1 } }

    /// The order in which MongoDB applies paths: names by their bytes, indexes by number.
    static func precedes(_ a: UpdatePath, _ b: UpdatePath) -> Bool {
        for (left, right) in zip(a.steps, b.steps) where left != right {
            guard case .name(let left) = left, case .name(let right) = right else {
                return ByteOrder.compare("\(left)", "\(right)") < 0
            }
            // Indexes come before names, so that the order is total.
            switch (left.index, right.index) {
            case (let left?, let right?): return left < right
            case (nil, nil): break
            case (let left, _): return left != nil
            }
            return ByteOrder.compare(left.name, right.name) < 0
        }
        return a.steps.count < b.steps.count
    }
}
