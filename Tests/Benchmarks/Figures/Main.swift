import BenchmarkRunner
import Dispatch
import Glibc

/// `benchmarks [--json] [NAME…]`: what `./Deploy/bench` runs.
@main enum Main {
    static func main() async {
        raiseDescriptorLimit()
        do {
            let arguments = try BenchmarkArguments(Array(CommandLine.arguments.dropFirst()))
            let work = Task {
                try await BenchmarkRunner(Registry.benchmarks).run(arguments, progress: Console.note) { report in
                    Console.figure(arguments.printsJSON ? report.jsonLine : report.textLine)
                }
            }
            let sources = [SIGINT, SIGTERM].map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number)
                source.setEventHandler { @Sendable in work.cancel() }
                source.resume()
                return source
            }
            defer { for source in sources { source.cancel() } }
            try await work.value
        } catch {
            Console.note("error: \(error)")
            exit(1)
        }
    }

    /// Thousands of sockets with both their ends in this process.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }
}
