import Foundation

/// Copies objects that are stored as files. A file is written once under a unique name and never changed, so an existing file is
/// the same.
enum MediaCopy {
    /// Copies the files that are missing.
    /// - Returns: how many files were copied.
    @discardableResult
    static func run(from source: String, to target: String) throws -> Int {
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: target, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        guard let files = manager.enumerator(atPath: source) else {
            throw ToolError("\(source) can't be read")
        }
        var copied = 0
        for case let name as String in files {
            let from = "\(source)/\(name)", to = "\(target)/\(name)"
            let kind = files.fileAttributes?[.type] as? FileAttributeType
            if kind == .typeDirectory {
                try manager.createDirectory(atPath: to, withIntermediateDirectories: true)
            } else if kind == .typeRegular, !manager.fileExists(atPath: to) {
                // Under another name first, so that an interrupted copy isn't taken for a complete one.
                let part = to + ".partial"
                if manager.fileExists(atPath: part) { try manager.removeItem(atPath: part) }
                do {
                    try manager.copyItem(atPath: from, toPath: part)
                } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
                    continue  // removed meanwhile, since nothing refers to it any more
                }
                try manager.moveItem(atPath: part, toPath: to)
                copied += 1
            }
        }
        return copied
    }
}
