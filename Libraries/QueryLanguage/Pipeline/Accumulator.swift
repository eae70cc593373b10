import DocumentModel

/// The state of one accumulator of a group.
struct Accumulator: Sendable {
    private enum State: Sendable {
        case sum(NumericSum)
        case average(NumericSum, count: Int64)
        case extreme(Value?, sign: Int)
        case first(Value?, isSet: Bool)
        case last(Value?)
        case push([Value])
        case addToSet(ValueSet)
        case deviation(count: Int64, mean: Double, squares: Double, isSample: Bool, isFinite: Bool)
        case merge(Document)
        case count(Int64)
    }

    private var state: State
    private let collation: Collation?
    /// About how many bytes of values it keeps.
    private(set) var bytes = 0

    /// - Throws: 15952 for a name that isn't an accumulator.
    init(_ name: String, _ collation: Collation?) throws(QueryError) {
        self.collation = collation
        switch name {
        case "$sum": state = .sum(NumericSum())
        case "$avg": state = .average(NumericSum(), count: 0)
        case "$min": state = .extreme(nil, sign: -1)
        case "$max": state = .extreme(nil, sign: 1)
        case "$first": state = .first(nil, isSet: false)
        case "$last": state = .last(nil)
        case "$push": state = .push([])
        case "$addToSet": state = .addToSet(ValueSet([], collation))
        case "$stdDevPop", "$stdDevSamp":
            state = .deviation(count: 0, mean: 0, squares: 0, isSample: name == "$stdDevSamp", isFinite: true)
        case "$mergeObjects": state = .merge(Document())
        case "$count": state = .count(0)
        default: throw QueryError(code: 15952, message: "unknown group operator '\(name)'")
        }
    }

    mutating func add(_ value: Value?) throws(QueryError) {
        switch state {
        case .sum(var sum):
            if let value { sum.add(value) }
            state = .sum(sum)
        case .average(var sum, let count):
            guard let value, value.isNumber else { return }
            sum.add(value)
            state = .average(sum, count: count + 1)
        case .extreme(let best, let sign):
            guard let value, !value.isNull else { return }
            let order = best.map { collation.compare(value, $0) } ?? sign
            if order.signum() == sign {
                state = .extreme(value, sign: sign)
                bytes = value.approximateSize
            }
        case .first(_, let isSet):
            if isSet { return }
            state = .first(value ?? .null, isSet: true)
            bytes = value?.approximateSize ?? 0
        case .last:
            state = .last(value ?? .null)
            bytes = value?.approximateSize ?? 0
        case .push(var elements):
            // The state drops its reference to the array first, so that appending doesn't copy it.
            state = .count(0)
            if let value {
                elements.append(value)
                bytes += value.approximateSize
            }
            state = .push(elements)
        case .addToSet(var elements):
            state = .count(0)
            if let value, elements.insert(value) { bytes += value.approximateSize }
            state = .addToSet(elements)
        case .deviation: addToDeviation(value)
        case .merge(var document):
            if value.isNullish { return }
            guard case .document(let other)? = value else {
                throw QueryError(
                    code: 40400, message: "$mergeObjects requires object inputs, but input is of type \(value.typeName)"
                )
            }
            document.merge(other.fields)
            state = .merge(document)
            bytes = Value.document(document).approximateSize
        case .count(let count): state = .count(count + 1)
        }
    }

    /// Updates mean and deviation by Welford's method.
    private mutating func addToDeviation(_ value: Value?) {
        guard case .deviation(let count, let mean, let squares, let isSample, let isFinite) = state,
            let number = value?.doubleValue
        else { return }
        let delta = number - mean
        let next = mean + delta / Double(count + 1)
        state = .deviation(
            count: count + 1, mean: next, squares: squares + delta * (number - next), isSample: isSample,
            isFinite: isFinite && number.isFinite)
    }

    var result: Value? {
        switch state {
        case .sum(let sum): return sum.value
        case .average(let sum, let count):
            if count == 0 { return .null }
            if case .decimal128(let total) = sum.value { return .decimal128(total.divided(by: Decimal128(count))) }
            return .double(sum.doubleTotal / Double(count))
        case .extreme(let best, _): return best ?? .null
        case .first(let value, _), .last(let value): return value ?? .null
        case .push(let elements): return .array(elements)
        case .addToSet(let elements): return .array(elements.sorted)
        case .deviation(let count, _, let squares, let isSample, let isFinite):
            let divisor = isSample ? count - 1 : count
            if divisor <= 0 || !isFinite { return .null }
            return .double((squares / Double(divisor)).squareRoot())
        case .merge(let document): return .document(document)
        case .count(let count): return .integer(count)
        }
    }
}
