import DocumentModel
import Glibc

/// The tool's results on standard output. Each line is written immediately, since a reader of a pipe waits for it, too.
enum Output {
    static func line(_ text: String) {
        var bytes = Array((text + "\n").utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                exit(1)  // the reader has closed the pipe, as in `| head`
            }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Prints one line of text for people, or one JSON object for programs.
    static func row(_ document: Document, isJSON: Bool, _ text: @autoclosure () -> String) {
        line(isJSON ? ExtendedJSON.print(document, mode: .relaxed) : text())
    }

    /// `--json`, of every command that lists something.
    static let option = Command.Option("json", "one JSON object per line, for programs")
}
