import DocumentModel
import QueryLanguage

/// The order of documents that no sort orders: that in which they were inserted, or its reverse.
public enum NaturalOrder: Sendable {
    case forward, backward

    /// What `{$natural: 1}` or `{$natural: -1}` says; `nil` for another document.
    init?(_ document: Document?) {
        guard let document, document.count == 1, let direction = document["$natural"] else { return nil }
        switch direction.doubleValue {
        case 1: self = .forward
        case -1: self = .backward
        default: return nil
        }
    }

    /// What stands behind the name of a column that SQL orders by.
    var direction: String { self == .forward ? "" : " desc" }

    /// The order that a sort and a hint ask for; a sort that asks for nothing else is taken away.
    static func taken(from sort: inout Document?, hint: Value?) -> NaturalOrder {
        guard let order = NaturalOrder(sort) else { return NaturalOrder(hint?.documentValue) ?? .forward }
        sort = nil
        return order
    }
}
