/// Runs benchmarks one after the other.
public struct BenchmarkRunner: Sendable {
    private let benchmarks: [Benchmark]

    public init(_ benchmarks: [Benchmark]) { self.benchmarks = benchmarks }

    /// Measures what the arguments choose, and stops what was started for it.
    /// - Parameters:
    ///   - progress: told what begins.
    ///   - report: told each figure as soon as it is there.
    /// - Throws: what the first benchmark that can't be carried out throws, with its name.
    public func run(
        _ arguments: BenchmarkArguments, progress: @escaping @Sendable (String) -> Void,
        report: @escaping @Sendable (FigureReport) -> Void
    ) async throws {
        let chosen = try arguments.choose(from: benchmarks)
        let machine = Machine(progress: progress)
        do {
            for benchmark in chosen {
                let names = benchmark.figures.map(\.name).joined(separator: ", ")
                progress("measuring \(names)")
                try await measure(benchmark, names, on: machine, arguments, report)
            }
        } catch {
            await machine.stop()
            throw error
        }
        await machine.stop()
    }

    private func measure(
        _ benchmark: Benchmark, _ names: String, on machine: Machine, _ arguments: BenchmarkArguments,
        _ report: (FigureReport) -> Void
    ) async throws {
        let measurements: [Measurement]
        do {
            measurements = try await benchmark.body(BenchmarkRun(machine: machine))
        } catch {
            throw BenchmarkError("\(names): \(error)")
        }
        guard measurements.count == benchmark.figures.count else {
            throw BenchmarkError("\(names): \(measurements.count) figures were measured")
        }
        for (figure, measurement) in zip(benchmark.figures, measurements) where arguments.includes(figure) {
            report(FigureReport(figure, measurement))
        }
    }
}
