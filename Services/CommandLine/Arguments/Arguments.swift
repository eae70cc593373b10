/// The arguments of a command, checked against its parameters and options.
struct Arguments: Sendable {
    private let command: Command
    private var values: [String: String] = [:]
    private var repeated: [String: [String]] = [:]
    private var positional: [String] = []

    /// - Throws: `UsageError` with the mistake and the command's usage.
    init(_ command: Command, words: [String]) throws(UsageError) {
        self.command = command
        var rest = words[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("--"), word.count > 2 else { positional.append(word); continue }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1)
            let name = String(parts[0])
            guard let option = command.options.first(where: { $0.name == name }) else {
                if let parameter = command.parameters.first(where: { $0.lowercased() == name.lowercased() }) {
                    throw UsageError("\(parameter) is given without --\(name)\nusage: \(command.usage)")
                }
                let names = command.options.map { "--" + $0.name }
                throw UsageError(
                    "no option --\(name)\(Suggestion.text(for: word, among: names))\nusage: \(command.usage)")
            }
            guard option.repeats || values[name] == nil else {
                throw UsageError("--\(name) is given more than once\nusage: \(command.usage)")
            }
            if option.value == nil {
                guard parts.count == 1 else { throw UsageError("--\(name) takes no value\nusage: \(command.usage)") }
                values[name] = ""
            } else if parts.count == 2 {
                values[name] = String(parts[1])
            } else if let value = rest.popFirst() {
                values[name] = value
            } else {
                throw UsageError("--\(name) needs a value\nusage: \(command.usage)")
            }
            repeated[name, default: []].append(values[name] ?? "")
        }
        let needed = command.parameters.filter { !$0.hasSuffix("?") }.count
        guard positional.count >= needed else {
            throw UsageError("\(command.parameters[positional.count]) is missing\nusage: \(command.usage)")
        }
        guard positional.count <= command.parameters.count else {
            throw UsageError("unexpected argument: \(positional[command.parameters.count])\nusage: \(command.usage)")
        }
    }

    /// The value of an option, `nil` when it isn't given.
    func value(_ option: String) -> String? { values[option] }

    /// All values of an option that may be repeated.
    func all(_ option: String) -> [String] { repeated[option] ?? [] }

    /// The value of an option that must be given.
    func requiredValue(_ option: String) throws(UsageError) -> String {
        guard let value = values[option] else { throw UsageError("--\(option) is missing\nusage: \(command.usage)") }
        return value
    }

    /// The value of `--app`. Without it, `Tool.app` uses the only deployed app.
    var app: String? { values["app"] }

    func has(_ option: String) -> Bool { values[option] != nil }

    /// - Throws: `UsageError` when the value isn't a whole number in the range.
    func int(_ option: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = values[option] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(
                "--\(option) takes a whole number from \(range.lowerBound) to \(range.upperBound), not \(text)")
        }
        return number
    }

    /// A parameter by its name.
    func parameter(_ name: String) -> String? {
        guard let index = command.parameters.firstIndex(where: { $0 == name || $0 == name + "?" }),
            index < positional.count
        else { return nil }
        return positional[index]
    }

    /// A parameter that is not optional.
    func required(_ name: String) throws(UsageError) -> String {
        guard let value = parameter(name) else { throw UsageError("\(name) is missing\nusage: \(command.usage)") }
        return value
    }
}

/// The tool was called with invalid arguments.
struct UsageError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
