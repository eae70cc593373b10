import EventLoop
import Foundation
import Glibc
import Texts

/// Copies objects that are stored as files. A file is written once under a unique name and never changed, so an existing file of the same
/// size is the same; one of another size was damaged.
struct MediaCopy: Sendable {
    let source: String
    let target: String
    /// Objects that the source doesn't have as they were stored: they replace nothing.
    private let lost: Set<ExactText>
    /// The folders of the target in which names were made, and their parents.
    private let changed = Locked<Set<ExactText>>([])
    private var manager: FileManager { .default }

    /// - Throws: `ToolError` when there is no source, an error of the file system when the target can't be made.
    init(from source: String, to target: String, lost: Set<ExactText> = []) throws {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: source, isDirectory: &isDirectory), isDirectory.boolValue else {
            throw ToolError("there is no directory \(source), which should have the media: name it with --media")
        }
        self.lost = lost
        self.source = source
        self.target = target
        try manager.createDirectory(
            atPath: target, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Copies the files that are missing or damaged in the target, of all directories.
    ///
    /// `FileManager.enumerator` must not be used for that: it takes directories for files when others are made beside them
    /// meanwhile, and leaves out what is in them.
    /// - Parameter excluded: a file that isn't copied.
    func copyAll(but excluded: String? = nil) throws { try copyContents(of: "", but: excluded.map { ExactText($0) }) }

    /// Copies a file of the source, if it has one of this name, in the place of the target's, which is there until then.
    func replace(_ name: String) throws { _ = try write(name) }

    /// Waits until the names of all files that were copied are on the disk, as the files are.
    func sync() throws {
        let folders = changed.withLock { changed in
            defer { changed = [] }
            return changed
        }
        for folder in folders.sorted() { try DurableFile.sync("\(target)/\(folder)") }
    }

    /// The size of an object of the target, in bytes; `nil` if it doesn't exist.
    func size(of name: String) -> Int? { size("\(target)/\(name)") }

    private func size(_ path: String) -> Int? { (try? manager.attributesOfItem(atPath: path))?[.size] as? Int }

    /// Copies an object that is missing or damaged in the target.
    /// - Returns: whether the target has it then.
    func copy(_ name: String) throws -> Bool {
        if let present = size(of: name) {
            guard let right = size("\(source)/\(name)"), right != present, !lost.contains(ExactText(name)) else {
                return true
            }
        }
        return try write(name) || size(of: name) != nil
    }

    /// - Returns: false if the source has no such file: it may have been removed meanwhile, since nothing refers to it any more.
    private func write(_ name: String) throws -> Bool {
        let from = "\(source)/\(name)", to = "\(target)/\(name)"
        // Under another name first, so that an interrupted copy isn't taken for a complete one.
        let part = to + ".partial"
        if manager.fileExists(atPath: part) { try manager.removeItem(atPath: part) }
        try manager.createDirectory(
            atPath: (to as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        do {
            try manager.copyItem(atPath: from, toPath: part)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return false
        }
        // A copy has the permissions of its source otherwise.
        guard chmod(part, 0o600) == 0 else {
            throw ToolError("\(part) can't be written: \(String(cString: strerror(errno)))")
        }
        try DurableFile.sync(part)
        guard rename(part, to) == 0 else {
            throw ToolError("\(to) can't be written: \(String(cString: strerror(errno)))")
        }
        remember(name)
        return true
    }

    private func remember(_ name: String) {
        changed.withLock { changed in
            var folder = name
            repeat {
                folder = DurableFile.folder(of: folder)
            } while changed.insert(ExactText(folder)).inserted && !folder.isEmpty
        }
    }

    /// - Parameter folder: ends with `/`, unless it is the source itself.
    private func copyContents(of folder: String, but excluded: ExactText?) throws {
        for entry in try manager.contentsOfDirectory(atPath: "\(source)/\(folder)") {
            let name = folder + entry
            if let excluded, ExactText(name) == excluded { continue }
            // What is gone meanwhile has no kind.
            let attributes = try? manager.attributesOfItem(atPath: "\(source)/\(name)")
            switch attributes?[.type] as? FileAttributeType {
            case .typeDirectory?: try copyContents(of: name + "/", but: excluded)
            case .typeRegular?: _ = try copy(name)
            default: continue
            }
        }
    }
}
