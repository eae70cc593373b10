import DocumentModel
import Glibc

/// What the tool answers, on standard output, each line at once: who reads it through a pipe waits for it as well.
enum Output {
    static func line(_ text: String) {
        var bytes = Array((text + "\n").utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                exit(1)  // nobody reads any more, as behind `| head`
            }
            bytes = bytes.dropFirst(count)
        }
    }

    /// One line for people, or one JSON object for programs.
    static func row(_ document: Document, isJSON: Bool, _ text: @autoclosure () -> String) {
        line(isJSON ? ExtendedJSON.print(document, mode: .relaxed) : text())
    }

    /// `--json`, of every command that lists something.
    static let option = Command.Option("json", "one JSON object per line, for programs")
}
