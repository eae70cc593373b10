/// Why a script did not complete.
public struct JavaScriptError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// The script threw.
        case exception
        /// The source isn't valid JavaScript.
        case syntax
        /// It exceeded its CPU time.
        case cpuLimit
        /// The process exceeded its memory limit.
        case memoryLimit
        /// The engine could not be started.
        case engine
    }

    public var code: Code
    /// The error's text, such as `TypeError: undefined is not an object`.
    public var message: String
    /// The source's name and the line in it (from 1), when the engine knows them.
    public var source: String?
    public var line: Int?
    public var stack: String?

    public init(code: Code, message: String, source: String? = nil, line: Int? = nil, stack: String? = nil) {
        self.code = code
        self.message = message
        self.source = source
        self.line = line
        self.stack = stack
    }

    public var description: String {
        guard let source else { return message }
        return "\(message) (\(source)\(line.map { ":\($0)" } ?? ""))"
    }
}
