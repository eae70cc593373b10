import Foundation
import Texts

/// Makes file names from external ids.
enum FileName {
    /// Letters, digits, `-` and `_` are kept; any other byte is written as `=` and two hexadecimal digits.
    static func of(_ text: String) -> String {
        var name = ""
        for byte in text.utf8 {
            let scalar = UnicodeScalar(byte)
            if byte < 0x80, scalar == "-" || scalar == "_" || scalar.properties.isAlphabetic || (48...57).contains(byte)
            {
                name.unicodeScalars.append(scalar)
            } else {
                name += "=" + Hex.text(CollectionOfOne(byte))
            }
        }
        return name
    }
}

/// The files of a store.
enum StoreFiles {
    /// Removes the files of a closed store.
    static func remove(_ path: String) throws {
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
            do {
                try FileManager.default.removeItem(atPath: path + suffix)
            } catch {
                throw PartitaError(code: .store, message: "\(error)")
            }
        }
    }
}
