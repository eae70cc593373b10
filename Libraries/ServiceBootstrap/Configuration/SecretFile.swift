import Foundation

/// A secret in a file of its own, as container engines provide them: `PARTITA_ADMIN_TOKEN_FILE` names a file that holds the value
/// for `PARTITA_ADMIN_TOKEN`.
public enum SecretFile {
    /// The maximum size of a file: a certificate's key is a few KiB.
    static let maximumBytes = 64 << 10

    /// The variable that names the file with another variable's value.
    public static func variable(of name: String) -> String { name + "_FILE" }

    /// The value of a variable, either set directly or read from its file.
    /// - Returns: the value and the variable that it comes from; `nil` when neither is set.
    /// - Throws: `SecretFileError` when both are set, or the file can't be read.
    public static func value(
        of name: String, in environment: [String: String]
    ) throws(SecretFileError) -> (text: String, place: String)? {
        let variable = variable(of: name)
        guard let file = environment[variable] else { return environment[name].map { ($0, name) } }
        guard environment[name] == nil else { throw SecretFileError(message: "is set by \(name) and by \(variable)") }
        return (try read(file, variable), variable)
    }

    /// The file's text without the line break that editors and shells add at its end.
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
                message: "\(file), which \(variable) names, must be UTF-8 text of at most \(maximumBytes) bytes")
        }
        if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
        return text
    }
}

/// Why a secret can't be read, phrased as the end of a sentence.
public struct SecretFileError: Error {
    public let message: String
}
