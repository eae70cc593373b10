import DocumentModel
import QueryLanguage

/// The order of documents without a sort: the order in which they were inserted, or its reverse.
public enum NaturalOrder: Sendable {
    case forward, backward

    /// The order of `{$natural: 1}` or `{$natural: -1}`; `nil` for another document.
    init?(_ document: Document?) {
        guard let document, document.count == 1, let direction = document["$natural"] else { return nil }
        switch direction.doubleValue {
        case 1: self = .forward
        case -1: self = .backward
        default: return nil
        }
    }

    /// The suffix of a column's name in SQL's `order by`.
    var direction: String { self == .forward ? "" : " desc" }

    /// The natural order that a sort or a hint asks for; a sort that is only that is set to `nil`.
    static func taken(from sort: inout Document?, hint: Value?) -> NaturalOrder {
        guard let order = NaturalOrder(sort) else { return NaturalOrder(hint?.documentValue) ?? .forward }
        sort = nil
        return order
    }
}
