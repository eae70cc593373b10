import DocumentModel
import Glibc

/// The tool's results on standard output. Each line is written immediately, since a reader of a pipe waits for it, too.
enum Output {
    static func line(_ text: String) { write(Array((text + "\n").utf8)) }

    /// Writes bytes as they are.
    static func write(_ bytes: [UInt8]) {
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(1, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                exit(1)  // the reader has closed the pipe, as in `| head`
            }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Prints one line of text for people, or one JSON object for programs.
    static func row(_ document: Document, isJSON: Bool, _ text: @autoclosure () -> String) {
        line(isJSON ? ExtendedJSON.print(document, mode: .relaxed) : shown(text()))
    }

    /// A row as a terminal may show it. Texts of apps and their users can have anything: a control character would be a command to the
    /// terminal, and a second line would look like a row of its own.
    static func shown(_ text: String) -> String { escaped(text.replacing("\n", with: "\n    "), but: [0x09, 0x0A]) }

    /// A text with its control characters as escapes.
    /// - Parameter kept: Those that stay.
    static func escaped(_ text: String, but kept: Set<UInt32>) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case let value where kept.contains(value): result.unicodeScalars.append(scalar)
            case 0..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x2066...0x2069:
                result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// `--json`, of every command that lists something.
    static let option = Command.Option("json", "one JSON object per line, for programs")
}
