import DocumentModel
import Postgres
import QueryLanguage

/// A `find` of the first documents of an order that no index has: Postgres chooses them, so that only they leave it.
///
/// Postgres orders by the type of the value at each path, then by its number or text, as far as these are unmistakable in the form
/// `document`. Documents with another value (arrays, decimals, documents, binaries, integers beyond 2^53), and those that may not match the
/// filter, stand before all others: usually there are few, and they are sorted in here.
struct TopRead {
    /// Chooses the documents: their places in natural order, the odd ones first. The bodies come afterwards, since they may be large.
    let statement: PostgresStatement
    private let table: String
    private let sort: Sort
    private let skip: Int
    private let limit: Int
    private let order: NaturalOrder

    /// The most documents that are read in order, those that are skipped included.
    private static let few = 256
    /// The most documents that are sorted in here.
    private static let odd = 64
    /// The settings for the statement. Compiling it takes longer than running it.
    static let settings: PostgresStatement = "select set_config('jit', 'off', true)"

    /// Whether Postgres may choose the documents of a find with these options.
    static func isPossible(_ options: FindOptions, collation: Collation?) -> Bool {
        guard let limit = options.limit, collation == nil else { return false }
        return limit <= few && options.skip <= few - limit
    }

    /// Returns `nil` if Postgres can't choose the documents.
    /// - Parameters:
    ///   - options: For which it is possible.
    ///   - found: The filter, with its doubt.
    init?(_ sort: Sort, options: FindOptions, found: TranslatedFilter, in table: CollectionTable) {
        guard let limit = options.limit, found.condition.isExact || found.doubt != nil else { return nil }
        var columns: [String] = [], kinds: [String] = [], terms: [String] = []
        var isOdd = found.doubt == nil ? [] : ["doubt"]
        for (place, key) in sort.keys.enumerated() {
            guard let path = key.path?.components.map(\.name) else { return nil }
            let x = "x\(place)", kind = "kind\(place)", direction = key.ascending ? "" : " desc"
            columns.append("\(Self.value(at: path)) as \(x)")
            kinds.append("\(Self.kind(of: x)) as \(kind)")
            isOdd.append("\(kind) = \(Kind.other.rawValue)")
            terms += [kind, Self.number(of: x, kind), Self.text(of: x, kind)].map { $0 + direction }
        }
        if let doubt = found.doubt { columns.append("\(doubt) as doubt") }
        // The offsets keep an expression from being evaluated again wherever its name occurs (see `GroupTranslation`).
        let fence = "offset bigint '0'"
        let values = """
            select t.natural_order as place, \(columns.joined(separator: ", "))
            from \(table.name) t where \(found.condition.sql) \(fence)
            """
        let sql = """
            select place, \(isOdd.joined(separator: " or ")) as is_odd
            from (select *, \(kinds.joined(separator: ", ")) from (\(values)) v \(fence)) k
            order by is_odd desc, \(terms.joined(separator: ", ")), place\(options.natural.direction)
            limit \(options.skip + limit + Self.odd)
            """
        statement = PostgresStatement(sql, found.parameters)
        (self.table, self.sort, self.limit, skip, order) = (table.name, sort, limit, options.skip, options.natural)
    }

    /// The places of the documents to read; `nil` if too many have to be sorted in here.
    func places(_ rows: PostgresRows) throws -> [Int64]? {
        var places: [Int64] = [], odd = 0
        for (place, isOdd) in try rows.decode((Int64, Bool).self) {
            if isOdd { odd += 1 }
            if isOdd || places.count - odd < skip + limit { places.append(place) }
        }
        // With more of them, Postgres may have left out some, or some of the others.
        return odd <= Self.odd ? places : nil
    }

    /// Reads the documents at places in natural order, which those that are equal keep.
    func bodies(at places: [Int64]) -> PostgresStatement {
        PostgresStatement(
            """
            select t.body from \(table) t where t.natural_order = any($1)
            order by t.natural_order\(order.direction)
            """, [.int8Array(places)])
    }

    /// An empty collection of them.
    var top: TopDocuments { TopDocuments(order: .sort(sort), skip: skip, limit: limit) }

    // MARK: SQL

    /// The types whose values Postgres can compare, in their order.
    private enum Kind: Int {
        case null = 1
        case number, text, objectId, bool, date
        case other
    }

    /// The value at a path; an array if there is one along it.
    private static func value(at path: [String]) -> String {
        let value = FilterTranslation.value(at: path), arrays = FilterTranslation.arraysAbove(path)
        return arrays.isEmpty ? value : "case when \(arrays.joined(separator: " or ")) then '[]' else \(value) end"
    }

    private static func kind(of x: String) -> String {
        """
        case jsonb_typeof(\(x))
        when 'number' then \(Kind.number.rawValue) when 'string' then \(Kind.text.rawValue)
        when 'boolean' then \(Kind.bool.rawValue) when 'array' then \(Kind.other.rawValue)
        when 'object' then case when jsonb_typeof(\(x)->'$date') = 'number' then \(Kind.date.rawValue)
            when jsonb_typeof(\(x)->'$oid') = 'string' then \(Kind.objectId.rawValue) else \(Kind.other.rawValue) end
        else \(Kind.null.rawValue) end
        """
    }

    private static func number(of x: String, _ kind: String) -> String {
        """
        case \(kind) when \(Kind.number.rawValue) then \(x)::numeric
        when \(Kind.date.rawValue) then (\(x)->>'$date')::numeric when \(Kind.bool.rawValue) then \(x)::boolean::int end
        """
    }

    private static func text(of x: String, _ kind: String) -> String {
        """
        case \(kind) when \(Kind.text.rawValue) then \(x) #>> '{}'
        when \(Kind.objectId.rawValue) then lower(\(x)->>'$oid') end collate "C"
        """
    }
}
