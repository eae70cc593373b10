import BenchmarkRunner
import ChildProcesses
import EventLoop
import Foundation
import Postgres

/// The time of `partita app deploy` for an app with 100 functions of 2 kB, from the start of the tool until the running services have the
/// version, against one transaction that inserts the same bytes, a row for each file. What lies between them is reading and checking
/// the files, parsing the functions, and the services' taking over.
let appDeployments = Benchmark(Figure("apps.deploy", .milliseconds, goal: .value(atMost: 2000))) { bench in
    let system = try await RunningSystem.shared(on: bench.machine)
    let app = try LargeApp(folder: "\(try await bench.machine.directory())/large-app")
    var configuration = PostgresConfiguration(url: try await bench.machine.postgres())
    configuration.connections = 1
    let loops = LoopGroup(1, name: "deployments")
    let round = Locked(0)
    let measurements = try await PostgresClient.withClient(configuration, on: loops) { client in
        try await client.execute(
            "create table if not exists partita_bench_files (round int, name text, body text, primary key (round, name))"
        )
        return try await bench.compare {
            let files = try app.write(
                round: round.withLock {
                    $0 += 1; return $0
                })
            guard files.count > LargeApp.functions else { throw BenchmarkError("the app has too few files") }
            return try await Stopwatch.seconds {
                let run = try await CapturedRun.run(
                    CurrentEnvironment.sibling("partita"), ["app", "deploy", app.folder, "--data", system.directory])
                guard run.status.isSuccess else { throw BenchmarkError("partita app deploy: \(run.output)") }
            } * 1000
        } reference: {
            let number = round.withLock {
                $0 += 1; return $0
            }
            let files = app.files(round: number)
            return try await Stopwatch.seconds {
                try await client.withTransaction { transaction in
                    for file in files {
                        try await transaction.execute(
                            "insert into partita_bench_files values ($1, $2, $3)",
                            [.int(Int64(number)), .text(file.name), .text(file.text)])
                    }
                }
            } * 1000
        }
    }
    await loops.shutDown()
    return measurements
}

/// An app that differs in each round, since a deployment of what is there already is none.
private struct LargeApp: Sendable {
    static let functions = 100

    let folder: String

    init(folder: String) throws {
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder + "/functions", withIntermediateDirectories: true)
    }

    func files(round: Int) -> [(name: String, text: String)] {
        let names = (0..<Self.functions).map { "work\($0)" }
        let list = names.map { #"{"name": "\#($0)", "private": true}"# }.joined(separator: ",\n")
        let step = (0..<20).map { number in
            "  values.push({ step: \(number), sum: given.reduce((sum, each) => sum + each * \(number), 0) });\n"
        }.joined()
        var files: [(name: String, text: String)] = [
            ("realm_config.json", #"{"config_version": 20210101, "app_id": "large", "name": "Large"}"#),
            ("functions/config.json", "[\(list)]"),
        ]
        for name in names {
            let text = """
                // Round \(round).
                exports = async function (...given) {
                  const values = [];
                \(step)  return { name: "\(name)", values };
                };
                """
            files.append(("functions/\(name).js", text))
        }
        return files
    }

    func write(round: Int) throws -> [(name: String, text: String)] {
        let files = files(round: round)
        for file in files {
            try file.text.write(toFile: "\(folder)/\(file.name)", atomically: true, encoding: .utf8)
        }
        return files
    }
}
