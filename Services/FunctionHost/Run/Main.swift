import FunctionHost
import Glibc

/// `function-host MEMORY_LIMIT`: speaks with its parent on descriptor 3; the limit is in bytes.
@main
enum Main {
    static func main() {
        guard CommandLine.arguments.count == 2, let limit = Int(CommandLine.arguments[1]), limit > 0 else {
            return fail(
                "usage: function-host MEMORY_LIMIT, with a socket on descriptor 3; services start it by themselves")
        }
        do {
            try FunctionHostServer(descriptor: 3, memoryLimit: limit).serve()
        } catch {
            fail("\(error)")
        }
    }

    private static func fail(_ message: String) {
        let line = "function-host: \(message)\n"
        line.withCString { _ = write(2, $0, strlen($0)) }
        exit(1)
    }
}
