import Ccrypto
import Foundation
import Texts

/// The SHA-256 of a file, computed in pieces with OpenSSL, since a dump may be larger than the memory.
enum FileDigest {
    /// - Returns: 64 hexadecimal digits, as `sha256sum` prints them.
    /// - Throws: `ToolError` when the file can't be read.
    static func sha256(of file: String) throws -> String {
        guard let handle = FileHandle(forReadingAtPath: file) else { throw ToolError("\(file) can't be read") }
        defer { handle.closeFile() }
        guard let context = EVP_MD_CTX_new() else { throw ToolError("OpenSSL has no memory") }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else { throw ToolError("OpenSSL has no SHA-256") }
        while let piece = try read(handle, file), !piece.isEmpty {
            let isTaken = piece.withUnsafeBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1 }
            guard isTaken else { throw ToolError("the SHA-256 of \(file) can't be made") }
        }
        var digest = [UInt8](repeating: 0, count: 32)
        guard EVP_DigestFinal_ex(context, &digest, nil) == 1 else {
            throw ToolError("the SHA-256 of \(file) can't be made")
        }
        return Hex.text(digest)
    }

    private static func read(_ handle: FileHandle, _ file: String) throws -> Data? {
        do {
            return try handle.read(upToCount: 1 << 20)
        } catch {
            throw ToolError("\(file) can't be read: \(error.localizedDescription)")
        }
    }
}
