import DocumentModel
import Postgres
import QueryLanguage

extension GroupTranslation {
    /// The groups of the statement's rows; `nil` if the query engine has to evaluate the documents.
    func documents(of rows: PostgresRows) throws -> [Document]? {
        let first = Self.columns.first + keys.count * Self.columns.key
        var places: [Value: Int] = [:]
        var groups: [Group] = []
        for row in rows {
            let count = try row.decode(0, as: Int64.self)
            // Without keys, Postgres returns a row even if there are no documents.
            if count == 0 { continue }
            guard try row.decode(1, as: Bool?.self) != true, let id = try id(of: row) else { return nil }
            let place = places[id] ?? groups.count
            if place == groups.count {
                places[id] = place
                groups.append(Group(id: id, sums: numbers.map { _ in Total() }))
            }
            groups[place].count += count
            for number in numbers.indices {
                guard try groups[place].sums[number].add(row, from: first + number * Self.columns.number) else {
                    return nil
                }
            }
        }
        var documents: [Document] = []
        documents.reserveCapacity(groups.count)
        for group in groups {
            guard let document = document(of: group) else { return nil }
            documents.append(document)
        }
        return documents
    }

    private struct Group {
        var id: Value
        var count: Int64 = 0
        var sums: [Total]
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
            }
        }
        return document
    }

    private func id(of row: PostgresRow) throws -> Value? {
        var parts = Document()
        for (place, key) in keys.enumerated() {
            guard let text = try row.decode(Self.columns.first + place * Self.columns.key, as: String?.self) else {
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
        case .int64(let number): return number.magnitude <= 1 << 53 ? value : .double(Double(number))
        case .double(let number): return number == 0 ? nil : value
        default: return nil
        }
    }
}
