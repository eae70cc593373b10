import DocumentModel

/// `$densify`.
public struct DensifySpecification: Sendable {
    /// The field in whose values gaps are filled.
    public let field: Path
    /// The fields whose values partition the documents.
    public let partition: [Path]
    /// The distance between the values.
    public let step: Value
    /// The unit of the step if the values are dates; otherwise `nil`.
    public let unit: String?
    /// The range of the values.
    public let bounds: Bounds

    /// The range of the values.
    public enum Bounds: Sendable {
        /// From the smallest to the largest value of all documents.
        case full
        /// From the smallest to the largest value of the partition.
        case partition
        /// From one value up to another, exclusive.
        case explicit(Value, Value)
    }
}

/// Sorts the documents by the field and inserts one for each missing value of the series.
struct DensifyStep: PipelineStep {
    let specification: DensifySpecification
    private var documents: [Document] = []
    private var budget = MemoryBudget()

    /// The most documents that are generated; MongoDB's limit.
    private static let mostMade = 500_000

    init(specification: DensifySpecification) { self.specification = specification }

    mutating func process(_ batch: [Document], _ context: PipelineContext) throws -> [Document] {
        for document in batch {
            try budget.add(document, context)
            documents.append(document)
        }
        return []
    }

    mutating func finish(_ context: PipelineContext) throws -> [Document] {
        var places: [Value: Int] = [:]
        var partitions: [(key: [Value?], members: [(value: Value, document: Document)])] = []
        var results: [Document] = []
        var least: Value?, most: Value?
        for document in documents {
            let found = document.value(at: specification.field)
            guard let value = found, !value.isNull else { results.append(document); continue }
            try check(value)
            least = least.map { Value.compare(value, $0) < 0 ? value : $0 } ?? value
            most = most.map { Value.compare(value, $0) > 0 ? value : $0 } ?? value
            let key = specification.partition.map { document.value(at: $0) }
            let place = places[.array(key.map { $0 ?? .undefined })] ?? partitions.count
            if place == partitions.count {
                places[.array(key.map { $0 ?? .undefined })] = place
                partitions.append((key, []))
            }
            partitions[place].members.append((value, document))
        }
        documents = []
        var made = 0
        if case .explicit = specification.bounds, partitions.isEmpty, specification.partition.isEmpty {
            partitions.append(([], []))
        }
        for index in partitions.indices {
            partitions[index].members.sort { Value.compare($0.value, $1.value) < 0 }
            let members = partitions[index].members
            let range: (from: Value, to: Value, isClosed: Bool)
            switch specification.bounds {
            case .full:
                guard let least, let most else { continue }
                range = (least, most, true)
            case .partition:
                guard let first = members.first, let last = members.last else { continue }
                range = (first.value, last.value, true)
            case .explicit(let from, let to): range = (from, to, false)
            }
            let series = try self.series(range.from, range.to, isClosed: range.isClosed, &made)
            for value in series where !Self.contains(members, value) {
                let document = try self.document(value, partitions[index].key)
                try budget.add(document, context)
                partitions[index].members.append((value, document))
            }
            partitions[index].members.sort { Value.compare($0.value, $1.value) < 0 }
            results += partitions[index].members.map(\.document)
        }
        return results
    }

    /// Whether one of the original members, which are sorted, has a value.
    private static func contains(_ members: [(value: Value, document: Document)], _ value: Value) -> Bool {
        var low = 0, high = members.count
        while low < high {
            let middle = (low + high) / 2
            if Value.compare(members[middle].value, value) < 0 { low = middle + 1 } else { high = middle }
        }
        return low < members.count && members[low].value == value
    }

    private func check(_ value: Value) throws(QueryError) {
        let isDate = if case .date = value { true } else { false }
        guard isDate || value.isNumber else {
            throw QueryError(code: 5_733_201, message: "Densify field type must be numeric or a date")
        }
        guard isDate == (specification.unit != nil) else {
            throw QueryError(
                code: isDate ? 6_053_600 : 6_053_601,
                message: isDate
                    ? "Encountered a date value in a $densify stage without a unit"
                    : "Encountered a numeric value in a $densify stage with a date unit")
        }
    }

    private func series(_ from: Value, _ to: Value, isClosed: Bool, _ made: inout Int) throws(QueryError) -> [Value] {
        var series: [Value] = []
        while true {
            let value = try step(from, Int64(series.count))
            let order = Value.compare(value, to)
            if order > 0 || order == 0 && !isClosed { return series }
            guard made < Self.mostMade else {
                throw QueryError(
                    code: 5_897_900,
                    message: "Generated \(made) documents in $densify, which is over the limit of \(Self.mostMade)")
            }
            if let last = series.last, Value.compare(last, value) >= 0 {
                throw QueryError(code: 5_733_402, message: "the step of $densify is too small for its values")
            }
            series.append(value)
            made += 1
        }
    }

    /// The value that is `count` steps after the first one. It is computed from the first one, so that months keep their day and
    /// rounding errors don't accumulate.
    private func step(_ from: Value, _ count: Int64) throws(QueryError) -> Value {
        if case .date(let moment) = from, let unit = specification.unit, let amount = specification.step.int64Value {
            let (total, overflow) = amount.multipliedReportingOverflow(by: count)
            guard !overflow else { throw QueryError(code: 15, message: "date overflow") }
            return .date(try DateUnit(.string(unit), "$densify").adding(total, to: moment, in: .utc))
        }
        return try Arithmetic.add(from, try Arithmetic.multiply(specification.step, .integer(count)))
    }

    private func document(_ value: Value, _ key: [Value?]) throws(QueryError) -> Document {
        var document = Document()
        for (path, value) in zip(specification.partition, key) { if let value { document.set(value, at: path) } }
        document.set(value, at: specification.field)
        return document
    }
}
