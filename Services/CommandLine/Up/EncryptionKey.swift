import ChildProcesses
import Foundation
import ServiceBootstrap

/// What the secrets of a system on one machine are encrypted with: made at the first start, and kept in the data directory.
enum EncryptionKey {
    /// The value of `encryption.keys`: the environment's, else the file's, which is made when it is missing.
    /// - Throws: when the file can't be read or written.
    static func ofSystem(in places: Places) throws -> String {
        let name = "PARTITA_ENCRYPTION_KEYS"
        do {
            if let keys = try SecretFile.value(of: name, in: CurrentEnvironment.variables)?.text, !keys.isEmpty {
                return keys
            }
        } catch {
            throw UsageError("encryption.keys \(error.message)")
        }
        if FileManager.default.fileExists(atPath: places.keyFile) {
            return try String(contentsOfFile: places.keyFile, encoding: .utf8).trimmingCharacters(
                in: .whitespacesAndNewlines)
        }
        var random = SystemRandomNumberGenerator()
        let key = (0..<4).map { _ in
            let digits = String(random.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        let file = open(places.keyFile, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard file >= 0 else { throw ToolError("can't make \(places.keyFile): \(String(cString: strerror(errno)))") }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        try handle.write(contentsOf: Data((key + "\n").utf8))
        try handle.synchronize()
        return key
    }
}
