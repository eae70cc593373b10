/// What the command line asks for.
public struct BenchmarkArguments: Sendable, Equatable {
    public var printsJSON = false
    public var names: [String] = []

    /// - Throws: `BenchmarkError` for an option that isn't there.
    public init(_ arguments: [String]) throws {
        for argument in arguments {
            switch argument {
            case "--json": printsJSON = true
            case _ where argument.hasPrefix("-"):
                throw BenchmarkError("unknown option \(argument); usage: bench [--json] [NAME…]")
            default: names.append(argument)
            }
        }
    }

    /// The benchmarks that the names choose: each that has a figure whose name begins with one of them; all without names.
    /// - Throws: `BenchmarkError` that lists the figures when a name chooses none.
    public func choose(from benchmarks: [Benchmark]) throws -> [Benchmark] {
        for name in names where !benchmarks.contains(where: { $0.matches(name) }) {
            let known = benchmarks.flatMap(\.figures).map { "  " + $0.name }.joined(separator: "\n")
            throw BenchmarkError("there is no figure \(name); there are\n\(known)")
        }
        return names.isEmpty ? benchmarks : benchmarks.filter { benchmark in names.contains(where: benchmark.matches) }
    }

    /// Whether a figure was asked for: a benchmark may yield others along with it.
    public func includes(_ figure: Figure) -> Bool { names.isEmpty || names.contains(where: figure.name.hasPrefix) }
}

extension Benchmark {
    fileprivate func matches(_ name: String) -> Bool { figures.contains { $0.name.hasPrefix(name) } }
}
