import Foundation

/// A secret in a file of its own, as container engines hand them over: `PARTITA_ADMIN_TOKEN_FILE` names the file that holds what
/// `PARTITA_ADMIN_TOKEN` would.
public enum SecretFile {
    /// The most that is read: a certificate's key is a few KiB.
    static let maximumBytes = 64 << 10

    /// The variable that names the file of a variable's value.
    public static func variable(of name: String) -> String { name + "_FILE" }

    /// The value of a variable: its own, or its file's.
    /// - Returns: the value and where it is from; `nil` when neither is set.
    /// - Throws: `SecretFileError` when both are set, or the file can't be read.
    public static func value(
        of name: String, in environment: [String: String]
    ) throws(SecretFileError) -> (text: String, place: String)? {
        let variable = variable(of: name)
        guard let file = environment[variable] else { return environment[name].map { ($0, name) } }
        guard environment[name] == nil else { throw SecretFileError(message: "is set by \(name) and by \(variable)") }
        return (try read(file, variable), variable)
    }

    /// Without the line break at its end, which editors and shells leave there.
    private static func read(_ file: String, _ variable: String) throws(SecretFileError) -> String {
        let handle: FileHandle
        let data: Data
        do {
            handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: file))
            data = try handle.read(upToCount: maximumBytes + 1) ?? Data()
            try handle.close()
        } catch {
            throw SecretFileError(
                message: "can't be read from \(file), which \(variable) names: \(error.localizedDescription)")
        }
        guard data.count <= maximumBytes, var text = String(bytes: data, encoding: .utf8) else {
            throw SecretFileError(
                message: "\(file), which \(variable) names, is no text of at most \(maximumBytes) bytes")
        }
        if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
        return text
    }
}

/// Why a secret can't be had, as the end of a sentence.
public struct SecretFileError: Error {
    public let message: String
}
