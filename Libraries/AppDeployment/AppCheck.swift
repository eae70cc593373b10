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
        let functions = AppDefinition.inspect(files).definition.functions
        guard !functions.isEmpty else { return AppDefinition.inspect(files) }
        let pool = FunctionHostPool(configuration: .init(hosts: 1), loop: loop, logger: Logger(label: "functions"))
        let running = Task { try await pool.run() }
        defer { running.cancel() }
        var problems: [ExactText: AppDefinition.SyntaxProblem] = [:]
        for function in functions {
            if let failure = try await pool.check(.init(name: function.name, text: function.source)) {
                problems[function.name] = .init(line: failure.line, message: failure.message)
            }
        }
        return AppDefinition.inspect(files) { _, name in problems[name] }
    }
}
