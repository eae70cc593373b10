/// What a benchmark works with while it runs.
public struct BenchmarkRun: Sendable {
    /// Engines and the whole system, started when they are asked for.
    public let machine: Machine

    /// Measures the subject and its reference in turns, so that whatever else the machine does meets both, after one round of each
    /// that isn't counted.
    /// - Parameters:
    ///   - subject: one round: a number for each figure.
    ///   - reference: likewise.
    /// - Returns: a measurement for each figure.
    public func compare(
        rounds: Int = 5, subject: () async throws -> [Double], reference: () async throws -> [Double]
    ) async throws -> [Measurement] {
        var measurements: [Measurement] = []
        for round in 0...rounds {
            try Task.checkCancellation()
            let values: [Double]
            let references: [Double]
            // Who comes first changes, since the second finds warm caches and a busy disk.
            if round.isMultiple(of: 2) {
                references = try await reference()
                values = try await subject()
            } else {
                values = try await subject()
                references = try await reference()
            }
            guard values.count == references.count else {
                throw BenchmarkError("\(values.count) numbers were measured, and \(references.count) of the reference")
            }
            if round == 0 {
                measurements = values.map { _ in Measurement() }
                continue
            }
            for index in values.indices { measurements[index].add(value: values[index], reference: references[index]) }
        }
        return measurements
    }

    /// The same for one figure.
    public func compare(
        rounds: Int = 5, subject: () async throws -> Double, reference: () async throws -> Double
    ) async throws -> [Measurement] {
        try await compare(rounds: rounds) {
            [try await subject()]
        } reference: {
            [try await reference()]
        }
    }
}

/// A benchmark can't be carried out, or measured something that can't be.
public struct BenchmarkError: Error, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}
