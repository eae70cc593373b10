import DocumentModel

/// What a projection does with one field.
public indirect enum ProjectionNode: Sendable {
    /// Keeps it.
    case include
    /// Drops it.
    case exclude
    /// Puts a value there.
    case computed(Expression)
    /// Goes on below it, field by field in the order of the specification.
    case children([Child])
    /// `$slice`: a part of an array.
    case slice(skip: Int?, limit: Int)
    /// `$elemMatch`: the first element that matches.
    case elementMatch(FieldCondition)

    /// A field and what is done with it.
    public struct Child: Sendable {
        /// The field's name.
        public let name: String
        /// What is done.
        public var node: ProjectionNode
    }

    /// Whether fields below are named.
    var isParent: Bool { if case .children = self { true } else { false } }

    var hasComputed: Bool {
        switch self {
        case .computed: true
        case .children(let children): children.contains { $0.node.hasComputed }
        default: false
        }
    }
}
