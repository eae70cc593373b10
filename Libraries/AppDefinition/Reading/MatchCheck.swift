import DocumentModel
import QueryLanguage

/// Whether a trigger's `match` is a filter.
enum MatchCheck {
    /// What is wrong with it, or `nil`.
    static func problem(in match: Document) -> String? {
        do throws(QueryError) {
            _ = try Filter(match)
            return nil
        } catch {
            return "not a filter: \(error.message)"
        }
    }
}
