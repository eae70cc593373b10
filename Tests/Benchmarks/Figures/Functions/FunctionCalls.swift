import BenchmarkRunner
import ChildProcesses
import DocumentModel
import EventLoop
import Foundation
import HTTPClient
import HTTPServer
import JavaScript
import Logging
import Metrics

/// Calls of a trivial function by ten clients over HTTP, each waiting for its answer, through trigger-workers. Against the same body in
/// one context that lives for ever, behind the same HTTP server: no user, no rules, no process and no context of its own.
let functionCalls = Benchmark(
    Figure("functions.calls", .perSecond, goal: .ratio(atLeast: 0.1)),
    Figure("functions.calls.p50", .milliseconds, goal: .ratio(atLeast: 0.1))
) { bench in
    let system = try await RunningSystem.shared(on: bench.machine)
    let directory = try await bench.machine.directory()
    let script = "\(directory)/call.lua"
    let body = #"{\"name\":\"add\",\"arguments\":[1,2]}"#
    try """
    wrk.method = "POST"
    wrk.body = "\(body)"
    wrk.headers["Content-Type"] = "application/json"
    wrk.headers["Authorization"] = "Bearer \(system.token)"
    """.write(toFile: script, atomically: true, encoding: .utf8)
    let bare = try await BareFunction.start()
    let measurements = try await bench.compare {
        let load = try await Wrk.load(
            "http://127.0.0.1:\(system.functionsPort)\(RunningSystem.callPath)", connections: 10, script: script)
        return [load.perSecond, load.median]
    } reference: {
        let load = try await Wrk.load("http://127.0.0.1:\(bare.port)/call", connections: 10, script: script)
        return [load.perSecond, load.median]
    }
    await bare.stop()
    return measurements
}

/// The time of 200 calls at a time that wait a second each, against one such call.
let functionsWaiting = Benchmark(Figure("functions.waiting", .milliseconds, goal: .ratio(atLeast: 0.5))) { bench in
    let system = try await RunningSystem.shared(on: bench.machine)
    let loops = LoopGroup(1, name: "callers")
    var configuration = HTTPClient.Configuration()
    configuration.maximumConnectionsPerHost = 200
    let client = HTTPClient(loop: loops.next(), configuration: configuration)
    let request = HTTPClient.Request(
        method: "POST", url: "http://127.0.0.1:\(system.functionsPort)\(RunningSystem.callPath)",
        headers: [.init("Content-Type", "application/json"), .init("Authorization", "Bearer \(system.token)")],
        body: Array(#"{"name":"wait","arguments":[1000]}"#.utf8))
    @Sendable func call(_ times: Int) async throws -> Double {
        try await Stopwatch.seconds {
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 0..<times {
                    group.addTask {
                        let response = try await client.send(request)
                        guard response.status == 200 else { throw BenchmarkError("a call: \(response.text)") }
                    }
                }
            }
        } * 1000
    }
    let measurements = try await bench.compare {
        try await call(200)
    } reference: {
        try await call(1)
    }
    await client.shutDown()
    await loops.shutDown()
    return measurements
}

/// The function's body in a context of this process, behind an HTTP server.
private final class BareFunction: Sendable {
    let port: Int
    private let function: Function
    private let server: HTTPServer
    private let loops: LoopGroup

    static func start() async throws -> BareFunction {
        let function = Function()
        try await function.prepare()
        var router = HTTPRouter()
        router.post("/call", bodyLimit: 1 << 20) { request in
            .json(try await function.call(String(decoding: request.body, as: UTF8.self)))
        }
        let loops = LoopGroup(1, name: "http")
        let server = HTTPServer(
            HTTPServerConfiguration(address: "127.0.0.1", port: 0), router: router, loops: loops.loops,
            logger: Logger(label: "benchmark"), registry: MetricsRegistry())
        try await server.start()
        return BareFunction(port: server.port, function: function, server: server, loops: loops)
    }

    private init(port: Int, function: Function, server: HTTPServer, loops: LoopGroup) {
        self.port = port
        self.function = function
        self.server = server
        self.loops = loops
    }

    func stop() async {
        await server.stop(drainingFor: .zero)
        await loops.shutDown()
    }

    private actor Function {
        private let executor = ThreadExecutor(name: "javascript")
        private var context: JavaScriptContext?
        private let answer = Answer()

        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        /// What the script has answered last; used on the executor's thread.
        private final class Answer { var text = "" }

        func prepare() throws {
            let context = try JavaScriptContext(JavaScriptVirtualMachine())
            context.define("answer") { [answer] words in
                answer.text = words.first ?? ""
                return nil
            }
            try context.evaluate(
                """
                const add = (a, b) => ({ sum: a + b });
                function call(text) {
                  const { arguments: given } = JSON.parse(text);
                  Promise.resolve(add(...given)).then(value => answer(JSON.stringify(value)));
                }
                """, name: "add.js")
            self.context = context
        }

        func call(_ body: String) throws -> String {
            try context?.call("call", [body])
            return answer.text
        }
    }
}
