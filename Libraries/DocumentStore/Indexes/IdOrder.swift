import DocumentModel
import Postgres
import QueryLanguage

/// The order by `_id`, from the primary key: the key texts of strings, UUIDs and ObjectIds sort as their values do; those of
/// integers contain the number, which is sorted by.
struct IdOrder {
    let isAscending: Bool

    /// `nil` for a sort by anything else.
    init?(_ sort: Sort, filter: Filter) {
        guard filter.collation == nil, sort.keys.count == 1, sort.keys[0].path?.description == "_id" else { return nil }
        isAscending = sort.keys[0].ascending
    }

    /// The condition of the `_id`s whose key texts don't sort as their values do: those of all other types.
    let others = "t._id >= 'e:' and t._id < 'e;'"

    /// The conditions and orders of the types in their sequence: integers, strings, UUIDs, ObjectIds.
    var parts: [(condition: String, order: String)] {
        let direction = isAscending ? "" : " desc"
        let all = ["l", "s", "u", "o"].map { type in
            (
                condition: "t._id >= '\(type):' and t._id < '\(type);'",
                order: (type == "l" ? "substr(t._id, 3)::bigint" : "t._id") + direction
            )
        }
        return isAscending ? all : all.reversed()
    }
}
