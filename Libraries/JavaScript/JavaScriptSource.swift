import CJavaScriptCore

/// A script that a machine has parsed, to be run in any number of its contexts.
///
/// Confined to the machine's thread.
public final class JavaScriptSource {
    // A script must be released before its machine.
    private let machine: JavaScriptVirtualMachine
    let name: String
    let script: JSScriptRef

    /// - Parameter name: the name of the source in errors.
    /// - Throws: code `syntax`, with the line, when it isn't valid JavaScript.
    public init(_ text: String, name: String, for machine: JavaScriptVirtualMachine) throws(JavaScriptError) {
        var message: JSStringRef?
        var line: Int32 = 0
        let script = JavaScriptText.withString(text) { source in
            JavaScriptText.withString(name) { JSScriptCreateFromString(machine.group, $0, 1, source, &message, &line) }
        }
        defer { if let message { JSStringRelease(message) } }
        guard let script else {
            throw JavaScriptError(
                code: .syntax, message: message.map { JavaScriptText.text($0) } ?? "a syntax error", source: name,
                line: Int(line))
        }
        self.machine = machine
        self.name = name
        self.script = script
    }

    /// The source of a function, whose value is the function.
    /// - Parameters:
    ///   - body: its lines keep their numbers.
    ///   - parameters: the names of the function's parameters, separated by commas.
    /// - Throws: code `syntax`, with the line, when it isn't valid JavaScript.
    public convenience init(
        functionBody body: String, parameters: String, name: String, for machine: JavaScriptVirtualMachine
    ) throws(JavaScriptError) {
        try self.init("(function (\(parameters)) {\(body)\n})", name: name, for: machine)
    }

    deinit { JSScriptRelease(script) }
}
