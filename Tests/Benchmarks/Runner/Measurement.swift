/// What one figure came to: a value per round, and beside each what the reference came to in the same round.
public struct Measurement: Sendable {
    public private(set) var values = Samples()
    /// Empty where the figure has no reference.
    public private(set) var references = Samples()

    public init() {}

    /// A figure that is compared with nothing.
    public init(value: Double) { values.add(value) }

    public mutating func add(value: Double, reference: Double) {
        values.add(value)
        references.add(reference)
    }
}

/// Numbers of which the middle one counts, and the outer ones tell how far it can be trusted.
public struct Samples: Sendable {
    private var sorted: [Double] = []

    public init(_ numbers: [Double] = []) { sorted = numbers.sorted() }

    public mutating func add(_ number: Double) {
        sorted.insert(number, at: sorted.firstIndex { $0 > number } ?? sorted.endIndex)
    }

    public var isEmpty: Bool { sorted.isEmpty }

    /// The least; 0 of none, as are the others.
    public var minimum: Double { sorted.first ?? 0 }
    public var maximum: Double { sorted.last ?? 0 }

    public var median: Double {
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }

    /// The number below which a share of all lie, by nearest rank.
    /// - Parameter share: from 0 to 1, such as 0.99.
    public func percentile(_ share: Double) -> Double {
        guard !sorted.isEmpty else { return 0 }
        let rank = Int((share * Double(sorted.count)).rounded(.up)) - 1
        return sorted[min(max(rank, 0), sorted.count - 1)]
    }
}
