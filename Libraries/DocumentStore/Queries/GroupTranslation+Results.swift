import DocumentModel
import Postgres
import QueryLanguage

extension GroupTranslation {
    /// The groups of the statement's rows; `nil` if the query engine has to evaluate the documents.
    func documents(of rows: PostgresRows) throws -> [Document]? {
        var groups = Groups(self)
        for row in rows { guard try groups.add(row) else { return nil } }
        return groups.documents()
    }

    /// Whether the lists of groups that were measured are small enough to be made.
    /// - Parameter total: The most bytes of all of them.
    func fits(_ rows: PostgresRows, within total: Int) throws -> Bool {
        let first =
            Self.columns.first + keys.count * Self.columns.key + numbers.count * Self.columns.number
            + extremes.count * Self.columns.extreme
        var bytes: Int64 = 0
        for row in rows {
            if try row.decode(1, as: Bool?.self) == true { return false }
            for place in lists.indices {
                let size = try row.decode(first + place * Self.columns.list, as: Int64.self)
                bytes += size
                if size > Self.maximumList || bytes > total { return false }
            }
        }
        return true
    }

    /// Groups in the order of their first rows. Several rows may be of one: 1 and 1.0 are one key, and so are the days of a month.
    struct Groups {
        private let translation: GroupTranslation
        private var places: [Value: Int] = [:]
        private var groups: [Group] = []
        /// What documents and lists have had in bytes.
        private(set) var bytes = 0

        init(_ translation: GroupTranslation) { self.translation = translation }

        /// - Returns: false if the query engine has to evaluate the documents.
        mutating func add(_ row: PostgresRow) throws -> Bool {
            let count = try row.decode(0, as: Int64.self)
            // Without keys, Postgres returns a row even if there are no documents.
            if count == 0 { return true }
            guard try row.decode(1, as: Bool?.self) != true, let id = try translation.id(of: row) else { return false }
            let place = places[id] ?? groups.count
            if place == groups.count {
                places[id] = place
                groups.append(Group(id: id, translation))
            } else if !translation.lists.isEmpty {
                return false
            }
            groups[place].count += count
            return try groups[place].add(row, translation, &bytes)
        }

        /// - Returns: `nil` if the query engine has to evaluate the documents.
        func documents() -> [Document]? {
            var documents: [Document] = []
            documents.reserveCapacity(groups.count)
            for group in groups {
                guard let document = translation.document(of: group) else { return nil }
                documents.append(document)
            }
            return documents
        }
    }

    private struct Group {
        var id: Value
        var count: Int64 = 0
        var sums: [Total]
        /// The least and the greatest value of each path.
        var extremes: [[Value?]]
        var lists: [Value] = []
        var first: (place: Int64, document: Document)?
        var last: (place: Int64, document: Document)?

        init(id: Value, _ translation: GroupTranslation) {
            self.id = id
            sums = translation.numbers.map { _ in Total() }
            extremes = translation.extremes.map { _ in [nil, nil] }
        }

        mutating func add(_ row: PostgresRow, _ translation: GroupTranslation, _ bytes: inout Int) throws -> Bool {
            let columns = GroupTranslation.columns
            var column = columns.first + translation.keys.count * columns.key
            for number in sums.indices {
                guard try sums[number].add(row, from: column) else { return false }
                column += columns.number
            }
            for place in extremes.indices {
                guard let kind = try GroupTranslation.kind(of: row, column) else { return false }
                for (side, sign) in [-1, 1].enumerated() where kind != nil {
                    guard let value = try GroupTranslation.extreme(row, column + 1 + side, kind) else { return false }
                    let order = extremes[place][side].map { Value.compare(value, $0) } ?? sign
                    // Which of 1 and 1.0 is the result depends on the order of the documents.
                    if order == 0, extremes[place][side]?.isIdentical(to: value) == false { return false }
                    if order.signum() == sign { extremes[place][side] = value }
                }
                column += columns.extreme
            }
            for _ in translation.lists {
                bytes += try row.size(column + 1)
                let text = try row.decode(column + 1, as: String?.self)
                lists.append(try text.map { try ExtendedJSON.parse($0) } ?? [])
                column += columns.list
            }
            if translation.hasEnds {
                let (start, end) = try (row.decode(column, as: Int64.self), row.decode(column + 1, as: Int64.self))
                guard try row.size(column + 2) > 0, try row.size(column + 3) > 0 else { return false }
                bytes += try row.size(column + 2) + row.size(column + 3)
                if first.map({ start < $0.place }) ?? true { first = (start, try row.document(column + 2)) }
                if last.map({ end > $0.place }) ?? true { last = (end, try row.document(column + 3)) }
            }
            return true
        }
    }

    /// The only kind of an extreme's values, `.some(nil)` if there are none; `nil` if Postgres can't compare them.
    private static func kind(of row: PostgresRow, _ column: Int) throws -> Kind?? {
        guard let kinds = try row.decode(column, as: Int?.self), kinds != 0 else { return .some(nil) }
        guard let kind = Kind(rawValue: kinds), kind != .other else { return nil }
        return kind
    }

    /// - Parameter column: That of the number; the text is the second one behind it.
    private static func extreme(_ row: PostgresRow, _ column: Int, _ kind: Kind?) throws -> Value? {
        if kind == .text { return .string(try row.decode(column + 2)) }
        let text = try row.decode(column, as: String.self)
        switch kind {
        case .int32: return Int32(text).map(Value.int32)
        case .int64: return Int64(text).map(Value.int64)
        case .date: return Int64(text).map(Value.date)
        // 0.0 and -0.0 are equal in Postgres.
        case .double: return Double(text).flatMap { $0 == 0 ? nil : .double($0) }
        case .text, .other, nil: return nil
        }
    }

    private struct Total {
        var count: Int64 = 0
        var sum = NumericSum()

        mutating func add(_ row: PostgresRow, from column: Int) throws -> Bool {
            count += try row.decode(column, as: Int64.self)
            if let text = try row.decode(column + 1, as: String?.self) {
                guard let total = Int64(text) else { return false }
                let isLong = try row.decode(column + 2, as: Bool?.self) == true
                // A sum that doesn't fit into 32 bits has 64, whatever its summands were.
                sum.add(isLong ? .int64(total) : .integer(total))
            }
            for (place, unit) in [1, 0x1p-62, 0x1p-124].enumerated() {
                guard let text = try row.decode(column + 3 + place, as: String?.self) else { continue }
                guard let multiple = Int128(text) else { return false }
                add(multiple, unit: unit)
            }
            return true
        }

        /// Adds doubles that together are a multiple of the unit.
        private mutating func add(_ multiple: Int128, unit: Double) {
            var rest = multiple
            repeat {
                let part = Double(rest)
                sum.add(.double(part * unit))
                rest -= Int128(part)
            } while rest != 0
        }
    }

    private func document(of group: Group) -> Document? {
        var document: Document = ["_id": group.id]
        for (name, output) in outputs {
            switch output {
            case .constant(let number):
                let (total, overflow) = number.multipliedReportingOverflow(by: group.count)
                if overflow { return nil }
                document[name] = .integer(total)
            case .sum(let place): document[name] = group.sums[place].sum.value
            case .average(let place):
                let total = group.sums[place]
                document[name] =
                    total.count == 0 ? .null : .double(total.sum.doubleTotal / Double(total.count))
            case .extreme(let place, let isGreatest):
                document[name] = group.extremes[place][isGreatest ? 1 : 0] ?? .null
            case .list(let place): document[name] = group.lists[place]
            case .first(let expression):
                guard let value = Self.value(of: expression, group.first?.document) else { return nil }
                document[name] = value
            case .last(let expression):
                guard let value = Self.value(of: expression, group.last?.document) else { return nil }
                document[name] = value
            }
        }
        return document
    }

    /// - Returns: `nil` if the query engine has to say what is wrong.
    private static func value(of expression: Expression, _ document: Document?) -> Value? {
        guard let document else { return nil }
        do { return try expression.evaluate(EvaluationContext(root: document)) ?? .null } catch { return nil }
    }

    private func id(of row: PostgresRow) throws -> Value? {
        var parts = Document()
        for (place, key) in keys.enumerated() {
            let text = try row.decode(Self.columns.first + place * Self.columns.key, as: String?.self)
            if let bin = key.bin {
                let moment = text.map { Int64($0) }
                guard moment.map({ $0 != nil }) ?? true else { return nil }
                let value: Value?
                // The query engine says what is wrong.
                do { value = try bin.value(moment ?? nil) } catch { return nil }
                guard let name = key.name else { return value ?? .null }
                if let value { parts[name] = value }
                continue
            }
            guard let text else {
                // A missing value is grouped with null; in a document as key it is left out.
                if key.name == nil { return .null }
                continue
            }
            let isLong = try row.decode(Self.columns.first + place * Self.columns.key + 1, as: Bool?.self) == true
            guard let value = Self.value(text, isLong: isLong) else { return nil }
            guard let name = key.name else { return value }
            parts[name] = value
        }
        return keys.isEmpty ? .null : .document(parts)
    }

    /// The value that has this plain form; `nil` if several values have it.
    private static func value(_ text: String, isLong: Bool) -> Value? {
        // If the text can't be parsed, the query engine reads the value from the body.
        guard let value = try? ExtendedJSON.parse(text) else { return nil }
        switch value {
        case .string, .bool, .null, .objectId, .date: return value
        case .int32(let number): return isLong ? .int64(Int64(number)) : value
        // A plain number beyond 2^53 is a double: such an integer is `{"$numberLong": …}`.
        case .int64(let number):
            return text.hasPrefix("{") || number.magnitude <= 1 << 53 ? value : .double(Double(number))
        case .double(let number): return number == 0 ? nil : value
        default: return nil
        }
    }
}
