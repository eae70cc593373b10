import DocumentModel
import Foundation

/// The names in a folder. Foundation passes over names that aren't UTF-8, or repairs them so that nothing is found under them.
struct FolderNames {
    /// A name that isn't UTF-8.
    struct Malformed {
        /// With the bytes that are no text escaped.
        var shown: String
        /// With the bytes that are no text replaced.
        var repaired: String
        var isFolder: Bool
    }

    /// Sorted.
    private(set) var names: [String] = []
    private(set) var malformed: [Malformed] = []

    /// - Returns: `nil` if the folder can't be read; `errno` says why.
    init?(of folder: String) {
        guard let directory = opendir(folder) else { return nil }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let bytes = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            guard bytes != Array(".".utf8), bytes != Array("..".utf8) else { continue }
            if let name = String(validating: bytes, as: UTF8.self) {
                names.append(name)
            } else {
                malformed.append(
                    Malformed(
                        shown: String(escaping: bytes), repaired: String(decoding: bytes, as: UTF8.self),
                        isFolder: Int32(entry.pointee.d_type) == Int32(DT_DIR)))
            }
        }
        names.sort()
        malformed.sort { $0.shown < $1.shown }
    }
}

extension DefinitionProblem {
    /// - Parameters:
    ///   - path: as people see it.
    ///   - isNeeded: whether the app would have the file, or files in the folder.
    static func nameNotText(_ path: String, isNeeded: Bool) -> DefinitionProblem {
        DefinitionProblem(
            .fileNameNotText, severity: isNeeded ? .error : .warning, file: path,
            "the name isn't UTF-8, so that nothing can refer to it: rename it")
    }
}
