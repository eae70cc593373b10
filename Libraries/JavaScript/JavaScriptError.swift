/// Why JavaScript did not come to its end.
public struct JavaScriptError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// The script threw.
        case exception
        /// The source is no JavaScript.
        case syntax
        /// It used up its CPU time.
        case cpuLimit
        /// The process grew beyond its memory limit.
        case memoryLimit
        /// The engine could not be started.
        case engine
    }

    public var code: Code
    /// `TypeError: undefined is not an object`.
    public var message: String
    /// The source's name and line (from 1), when the engine knows them.
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
