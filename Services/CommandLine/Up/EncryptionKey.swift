import ChildProcesses
import Foundation
import ServiceBootstrap

/// The key with which the secrets of a system on one machine are encrypted: created at the first start, and stored in the data
/// directory.
enum EncryptionKey {
    /// The value of `encryption.keys`: from the environment, otherwise from the file, which is created when it is missing.
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
        guard file >= 0 else { throw ToolError("can't create \(places.keyFile): \(String(cString: strerror(errno)))") }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        try handle.write(contentsOf: Data((key + "\n").utf8))
        try handle.synchronize()
        return key
    }
}
