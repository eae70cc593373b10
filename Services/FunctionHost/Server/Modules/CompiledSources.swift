import DocumentModel
import JavaScript

/// The sources of functions and modules that the machine has parsed, each once for all requests.
///
/// What is kept for a name and a text depends on these alone: nothing that a script does in its realm reaches another one through it.
struct CompiledSources {
    enum Kind: Hashable { case function, module }

    private struct Key: Hashable {
        let kind: Kind
        @ExactText var name: String
    }

    private struct Entry {
        @ExactText var text: String
        let source: JavaScriptSource
    }

    private let machine: JavaScriptVirtualMachine
    private var entries: [Key: Entry] = [:]
    /// The sources that are parsed as they are; `nil` for those that may have to be changed first.
    private var unchanged: [Key: JavaScriptSource?] = [:]

    init(_ machine: JavaScriptVirtualMachine) {
        self.machine = machine
    }

    /// The source of a text that may differ between requests.
    /// - Throws: code `syntax`, with the line, when it isn't valid JavaScript.
    mutating func source(_ kind: Kind, _ name: String, text: String) throws(JavaScriptError) -> JavaScriptSource {
        let key = Key(kind: kind, name: name)
        if let entry = entries[key], entry.text.hasSameBytes(as: text) { return entry.source }
        let source = try parse(kind, name, text)
        entries[key] = Entry(text: text, source: source)
        return source
    }

    /// The source of an unchanging text.
    /// - Returns: `nil` when a function's text may have `import` statements, which the prelude has to replace first.
    /// - Throws: code `syntax`, with the line, when it isn't valid JavaScript.
    mutating func source(_ kind: Kind, _ name: String, unchanged text: String) throws(JavaScriptError)
        -> JavaScriptSource?
    {
        let key = Key(kind: kind, name: name)
        if let known = unchanged[key] { return known }
        let mayImport = kind == .function && text.utf8.contains("import".utf8)
        // The first line of a program for the shell.
        let isProgram = kind == .module && text.utf8.starts(with: "#!".utf8)
        let source = mayImport ? nil : try parse(kind, name, isProgram ? "//" + text.dropFirst(2) : text)
        unchanged[key] = .some(source)
        return source
    }

    /// Each function gets its own `context`, which determines for whom it acts. Line numbers remain those of the source.
    private func parse(_ kind: Kind, _ name: String, _ text: String) throws(JavaScriptError) -> JavaScriptSource {
        switch kind {
        case .function:
            try JavaScriptSource(
                functionBody: "return (function (exports) {" + text + "\n;return exports;})({});",
                parameters: "context",
                name: name, for: machine)
        case .module:
            try JavaScriptSource(
                functionBody: text, parameters: "exports, require, module, __filename, __dirname, inside", name: name,
                for: machine)
        }
    }
}
