import DocumentModel

/// What a projection does with one field.
public indirect enum ProjectionNode: Sendable {
    /// Keeps the field.
    case include
    /// Drops the field.
    case exclude
    /// Sets the field to a computed value.
    case computed(Expression)
    /// Applies to the fields below it, in the order of the specification.
    case children([Child])
    /// `$slice`: a part of an array.
    case slice(skip: Int?, limit: Int)
    /// `$elemMatch`: the first element that matches.
    case elementMatch(FieldCondition)

    /// A field and its projection.
    public struct Child: Sendable {
        /// The field's name.
        public let name: String
        /// The field's projection.
        public var node: ProjectionNode
    }

    var hasComputed: Bool {
        switch self {
        case .computed: true
        case .children(let children): children.contains { $0.node.hasComputed }
        default: false
        }
    }
}
