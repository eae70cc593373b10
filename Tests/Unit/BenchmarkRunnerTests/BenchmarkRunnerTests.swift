import BenchmarkRunner
import EventLoop
import Testing

@Suite struct BenchmarkArgumentsTests {
    private let benchmarks = [
        Benchmark(Figure("sync.commit.p50", .milliseconds), Figure("sync.commit.p99", .milliseconds)) { _ in [] },
        Benchmark(Figure("redis.gets", .perSecond)) { _ in [] },
    ]

    private func chosen(_ names: String...) throws -> [String] {
        try BenchmarkArguments(names).choose(from: benchmarks).flatMap(\.figures).map(\.name)
    }

    @Test func `without names everything is measured`() throws {
        #expect(try chosen() == ["sync.commit.p50", "sync.commit.p99", "redis.gets"])
    }

    @Test func `the beginning of a name is enough`() throws {
        #expect(try chosen("redis") == ["redis.gets"])
        #expect(try chosen("sync.commit.p99") == ["sync.commit.p50", "sync.commit.p99"])
        #expect(try !BenchmarkArguments(["sync.commit.p99"]).includes(benchmarks[0].figures[0]))
    }

    @Test func `an unknown name is an error that lists the names`() throws {
        let error = #expect(throws: BenchmarkError.self) { try chosen("redis", "postgres") }
        let text = try #require(error?.description)
        #expect(text.contains("no figure postgres"))
        for figure in benchmarks.flatMap(\.figures) { #expect(text.contains(figure.name)) }
    }

    @Test func `an unknown option is an error`() throws {
        #expect(throws: BenchmarkError.self) { try BenchmarkArguments(["--fast"]) }
        #expect(try BenchmarkArguments(["--json", "redis"]).printsJSON)
    }
}

@Suite struct BenchmarkRunnerTests {
    /// Counts, in the order of the calls.
    private actor Calls {
        private(set) var made: [String] = []

        func add(_ name: String) -> Double {
            made.append(name)
            return name == "subject" ? 1 : 2
        }
    }

    @Test func `subject and reference are measured in turns, the first round not counted`() async throws {
        let calls = Calls()
        let benchmark = Benchmark(Figure("a.b", .perSecond)) { bench in
            try await bench.compare(rounds: 3) {
                await calls.add("subject")
            } reference: {
                await calls.add("reference")
            }
        }
        let reports = Locked<[FigureReport]>([])
        try await BenchmarkRunner([benchmark]).run(try BenchmarkArguments([]), progress: { _ in }) { report in
            reports.withLock { $0.append(report) }
        }
        #expect(
            await calls.made == [
                "reference", "subject", "subject", "reference", "reference", "subject", "subject", "reference",
            ])
        #expect(reports.withLock { $0 }.map(\.ratio) == [0.5])
    }

    @Test func `only the figures that were asked for are reported`() async throws {
        let benchmark = Benchmark(Figure("a.p50", .milliseconds), Figure("a.p99", .milliseconds)) { _ in
            [Measurement(value: 1), Measurement(value: 2)]
        }
        let reports = Locked<[FigureReport]>([])
        try await BenchmarkRunner([benchmark]).run(try BenchmarkArguments(["a.p99"]), progress: { _ in }) { report in
            reports.withLock { $0.append(report) }
        }
        #expect(reports.withLock { $0 }.map(\.figure.name) == ["a.p99"])
    }

    @Test func `a benchmark that fails is named, and what it had started is stopped`() async throws {
        struct Failure: Error {}
        let calls = Calls()
        let benchmark = Benchmark(Figure("a.b", .perSecond)) { bench in
            await bench.machine.atEnd { _ = await calls.add("first") }
            await bench.machine.atEnd { _ = await calls.add("second") }
            throw Failure()
        }
        let error = await #expect(throws: BenchmarkError.self) {
            try await BenchmarkRunner([benchmark]).run(try BenchmarkArguments([]), progress: { _ in }) { _ in }
        }
        #expect(error?.description.hasPrefix("a.b: ") == true)
        #expect(await calls.made == ["second", "first"])
    }
}
