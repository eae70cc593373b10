import Foundation

/// This process's environment variables.
public enum CurrentEnvironment {
    public static var variables: [String: String] { ProcessInfo.processInfo.environment }

    /// The path of the executable `name` in the folder of the running executable, where a build puts all executables.
    public static func sibling(_ name: String) -> String {
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(name).path
    }
}
