import DocumentModel

/// An accumulator of `$group` with its own arguments: a plain one, or one that keeps several elements or sorts.
struct GroupAccumulator: Sendable {
    private enum Kind: Sendable {
        case plain(Accumulator)
        /// The first or the last elements.
        case elements([Value], count: Int, keepsLast: Bool)
        /// The smallest or largest elements.
        case extremes([Value], count: Int, isAscending: Bool)
        /// The first or last elements in a sort order.
        case sorted([(keys: [Value], value: Value)], sort: Sort, count: Int, isTop: Bool, isSingle: Bool)
        /// The numbers from which `$percentile` and `$median` choose.
        case percentiles(Percentiles, [Double])
    }

    private var kind: Kind
    /// About how many bytes of values it keeps.
    private(set) var bytes = 0

    init(_ specification: AccumulatorSpecification, _ context: EvaluationContext) throws(QueryError) {
        switch specification.name {
        case "$firstN", "$lastN":
            kind = .elements(
                [], count: try Self.count(specification, context), keepsLast: specification.name == "$lastN")
        case "$minN", "$maxN":
            kind = .extremes(
                [], count: try Self.count(specification, context), isAscending: specification.name == "$minN")
        case "$top", "$bottom", "$topN", "$bottomN":
            guard let sort = specification.sort else { throw .badValue("\(specification.name) needs 'sortBy'") }
            let isSingle = specification.count == nil
            kind = .sorted(
                [], sort: sort.collated(by: context.collation),
                count: isSingle ? 1 : try Self.count(specification, context),
                isTop: specification.name.hasPrefix("$top"),
                isSingle: isSingle)
        case "$percentile", "$median":
            guard let percentiles = specification.percentiles else { throw .missingField("\(specification.name).p") }
            kind = .percentiles(percentiles, [])
        default: kind = .plain(try Accumulator(specification.name, context.collation))
        }
    }

    private static func count(_ specification: AccumulatorSpecification, _ context: EvaluationContext)
        throws(QueryError) -> Int
    {
        try ExpressionOperators.elementCount(try specification.count?.evaluate(context))
    }

    mutating func add(_ specification: AccumulatorSpecification, _ context: EvaluationContext) throws(QueryError) {
        let value = try specification.argument.evaluate(context)
        switch kind {
        case .plain(var accumulator):
            // The reference is dropped first, so that adding doesn't copy the elements.
            kind = .elements([], count: 0, keepsLast: false)
            try accumulator.add(value)
            bytes = accumulator.bytes
            kind = .plain(accumulator)
        case .elements(var elements, let count, let keepsLast):
            if !keepsLast, elements.count == count { return }
            kind = .elements([], count: 0, keepsLast: false)
            elements.append(value ?? .null)
            keep(value, insteadOf: elements.count > count ? elements.removeFirst() : nil)
            kind = .elements(elements, count: count, keepsLast: keepsLast)
        case .extremes(var elements, let count, let isAscending):
            guard let value, !value.isNull else { return }
            kind = .elements([], count: 0, keepsLast: false)
            let place =
                elements.firstIndex { isAscending ? context.compare(value, $0) < 0 : context.compare(value, $0) > 0 }
                ?? elements.count
            elements.insert(value, at: place)
            keep(value, insteadOf: elements.count > count ? elements.removeLast() : nil)
            kind = .extremes(elements, count: count, isAscending: isAscending)
        case .sorted(var entries, let sort, let count, let isTop, let isSingle):
            kind = .elements([], count: 0, keepsLast: false)
            let keys = sort.sortKeys(context.root)
            let place = entries.firstIndex { sort.compare(keys, $0.keys) < 0 } ?? entries.count
            entries.insert((keys, value ?? .null), at: place)
            let former = entries.count <= count ? nil : isTop ? entries.removeLast() : entries.removeFirst()
            keep(.array(keys), insteadOf: former.map { .array($0.keys) })
            keep(value, insteadOf: former?.value)
            kind = .sorted(entries, sort: sort, count: count, isTop: isTop, isSingle: isSingle)
        case .percentiles(let percentiles, var numbers):
            guard let number = value?.doubleValue else { return }
            kind = .elements([], count: 0, keepsLast: false)
            numbers.append(number)
            bytes += MemoryLayout<Double>.size
            kind = .percentiles(percentiles, numbers)
        }
    }

    private mutating func keep(_ value: Value?, insteadOf former: Value?) {
        bytes += (value ?? .null).approximateSize - (former?.approximateSize ?? 0)
    }

    var result: Value? {
        switch kind {
        case .plain(let accumulator): accumulator.result
        case .elements(let elements, _, _), .extremes(let elements, _, _): .array(elements)
        case .percentiles(let percentiles, let numbers): percentiles.result(numbers)
        case .sorted(let entries, _, _, _, let isSingle):
            isSingle ? entries.first?.value ?? .null : .array(entries.map(\.value))
        }
    }
}
