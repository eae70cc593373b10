/// The command line of a service.
package struct ServiceArguments: Equatable {
    package enum Help: Equatable { case text, markdown }

    package var configurationFile: String?
    package var help: Help?

    /// - Parameter arguments: Without the program's name.
    package init(_ arguments: [String]) throws(StartFailure) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            switch parts[0] {
            case "--config":
                guard let file = parts.count > 1 ? parts[1] : rest.popFirst(), !file.isEmpty else {
                    throw StartFailure(.usage, "--config needs a file; see --help")
                }
                configurationFile = file
            case "--help", "-h": help = parts.count > 1 && parts[1] == "markdown" ? .markdown : .text
            default: throw StartFailure(.usage, "unknown argument \(argument); see --help")
            }
        }
    }
}
