import FunctionHost
import Glibc

/// `function-host MEMORY_LIMIT`: communicates with its parent on descriptor 3, and shows on descriptor 4 what it does; the limit is in
/// bytes.
@main
enum Main {
    private static let usage = """
        usage: function-host MEMORY_LIMIT [--account USER:GROUP] [--without-filter], with a socket on descriptor 3 and a shared page on 4; services start it by themselves
               function-host --confinement [--account USER:GROUP] [--without-filter] shows what a function's process may do
        """

    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        guard let first = words.first, let confinement = confinement(words) else { return fail(usage) }
        do {
            if first == "--confinement" {
                for line in try confinement.attempts() { print(line) }
                fflush(nil)
            } else if let limit = Int(first), limit > 0 {
                try FunctionHostServer(descriptor: 3, memoryLimit: limit, confinement: confinement).serve()
            } else {
                fail(usage)
            }
        } catch {
            fail("\(error)")
        }
    }

    /// The options after the first argument; `nil` when one is unknown or malformed.
    private static func confinement(_ words: [String]) -> Confinement? {
        var confinement = Confinement()
        var rest = words.dropFirst()
        while let word = rest.popFirst() {
            switch word {
            case "--without-filter": confinement.filtersCalls = false
            case "--account":
                let ids = (rest.popFirst() ?? "").split(separator: ":").compactMap { UInt32($0) }
                guard ids.count == 2 else { return nil }
                confinement.account = (ids[0], ids[1])
            default: return nil
            }
        }
        return confinement
    }

    private static func fail(_ message: String) {
        let line = "function-host: \(message)\n"
        line.withCString { _ = write(2, $0, strlen($0)) }
        exit(1)
    }
}
