public import AppDefinition
import DocumentModel
public import EventLoop
import FunctionProtocol
import Functions
import Logging

/// Reads an app and has its functions parsed by the engine that will run them.
public enum AppCheck {
    /// - Parameter loop: for the process that parses them.
    public static func inspect(_ files: AppFiles, on loop: EventLoop) async throws -> AppDefinition.Inspection {
        let first = await read(files)
        let functions = first.definition.functions
        guard !functions.isEmpty else { return first }
        let pool = FunctionHostPool(configuration: .init(hosts: 1), loop: loop, logger: Logger(label: "functions"))
        let running = Task { try await pool.run() }
        defer { running.cancel() }
        var problems: [ExactText: AppDefinition.SyntaxProblem] = [:]
        for function in functions {
            if let failure = try await parse(function, in: pool) {
                problems[function.name] = .init(line: failure.line, message: failure.message)
            }
        }
        let found = problems
        return await read(files) { _, name in found[name] }
    }

    /// Reading a large app may take seconds, for which no thread of Swift's may be blocked.
    private static func read(
        _ files: AppFiles,
        syntaxCheck: @escaping @Sendable (_ source: String, _ name: String) -> AppDefinition.SyntaxProblem? = { _, _ in
            nil
        }
    ) async -> AppDefinition.Inspection {
        await withCheckedContinuation { continuation in
            BlockingWork.run { continuation.resume(returning: AppDefinition.inspect(files, syntaxCheck: syntaxCheck)) }
        }
    }

    /// How often a function is parsed whose process ended.
    private static let attempts = 3

    /// - Returns: what is wrong with its source.
    /// - Throws: `FunctionFailure` when its processes ended each time: that says nothing about the source of an app.
    private static func parse(
        _ function: FunctionDefinition, in pool: FunctionHostPool
    ) async throws -> FunctionFailure? {
        for attempt in 1...attempts {
            let failure = try await pool.check(.init(name: function.name, text: function.source))
            guard let failure, failure.code == .hostLost else { return failure }
            if attempt == attempts { throw failure }
        }
        return nil
    }
}
