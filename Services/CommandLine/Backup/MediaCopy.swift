import Foundation

/// Copies objects that are stored as files. A file is written once under a unique name and never changed, so an existing file is
/// the same.
struct MediaCopy {
    let source: String
    let target: String
    private let manager = FileManager.default

    /// - Throws: an error of the file system when the target can't be made.
    init(from source: String, to target: String) throws {
        self.source = source
        self.target = target
        try manager.createDirectory(
            atPath: target, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Copies the files that are missing in the target, of all directories.
    ///
    /// `FileManager.enumerator` must not be used for that: it takes directories for files when others are made beside them
    /// meanwhile, and leaves out what is in them.
    func copyAll() throws { try copyContents(of: "") }

    /// Copies a file of the source, if it has one of this name, in the place of the target's.
    func replace(_ name: String) throws {
        guard manager.fileExists(atPath: "\(source)/\(name)") else { return }
        let to = "\(target)/\(name)"
        if manager.fileExists(atPath: to) { try manager.removeItem(atPath: to) }
        _ = try copy(name)
    }

    /// The size of an object of the target, in bytes; `nil` if it doesn't exist.
    func size(of name: String) -> Int? {
        (try? manager.attributesOfItem(atPath: "\(target)/\(name)"))?[.size] as? Int
    }

    /// Copies an object that is missing in the target.
    /// - Returns: whether the target has it then.
    func copy(_ name: String) throws -> Bool {
        let from = "\(source)/\(name)", to = "\(target)/\(name)"
        if manager.fileExists(atPath: to) { return true }
        // Under another name first, so that an interrupted copy isn't taken for a complete one.
        let part = to + ".partial"
        if manager.fileExists(atPath: part) { try manager.removeItem(atPath: part) }
        try manager.createDirectory(
            atPath: (to as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        do {
            try manager.copyItem(atPath: from, toPath: part)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return false  // removed meanwhile, since nothing refers to it any more
        }
        try manager.moveItem(atPath: part, toPath: to)
        return true
    }

    /// - Parameter folder: ends with `/`, unless it is the source itself.
    private func copyContents(of folder: String) throws {
        for entry in try manager.contentsOfDirectory(atPath: "\(source)/\(folder)") {
            let name = folder + entry
            // What is gone meanwhile has no kind.
            let attributes = try? manager.attributesOfItem(atPath: "\(source)/\(name)")
            switch attributes?[.type] as? FileAttributeType {
            case .typeDirectory?: try copyContents(of: name + "/")
            case .typeRegular?: _ = try copy(name)
            default: continue
            }
        }
    }
}
