import AppDefinition
import AppDeployment
import DocumentModel
import EventLoop
import Logging

/// `partita app check DIRECTORY`: what a deployment would say, without any engine.
enum AppCheckCommand {
    static let command = Command(
        name: "app check", summary: "Say what a deployment of an app would serve and refuse, without any engine",
        parameters: ["DIRECTORY"], options: AppSource.options + [Output.option]
    ) { arguments in
        LoggingSystem.bootstrap(level: .error, format: .text)
        let files = try AppSource.files(try arguments.required("DIRECTORY"), arguments)
        let inspection = try await AppCheck.inspect(files, on: LoopGroup(1).next())
        for problem in inspection.problems {
            Output.row(row(problem), isJSON: arguments.has("json"), problem.description)
        }
        if !arguments.has("json") {
            for line in AppReport(inspection.definition, problems: inspection.problems).lines { Output.line(line) }
        }
        let errors = inspection.problems.count { $0.severity == .error }
        guard errors == 0 else {
            throw ToolError("a deployment would be refused: \(errors) \(errors == 1 ? "error" : "errors")")
        }
    }

    private static func row(_ problem: DefinitionProblem) -> Document {
        var row: Document = [
            "severity": .string(problem.severity.rawValue), "code": .string(problem.code.rawValue),
            "file": .string(problem.file), "pointer": .string(problem.pointer),
        ]
        row["line"] = problem.line.map { .int64(Int64($0)) }
        row["message"] = .string(problem.message)
        row["remedy"] = .string(problem.code.remedy)
        return row
    }
}
