import DocumentModel
import Foundation

extension AppFiles {
    /// Reads an app's folder. Nothing is written, links are followed inside of it, and files at places where an app has none are passed
    /// over.
    ///
    /// What is wrong with single files (`file-unreadable`, `file-too-large`, `file-not-text`, `file-name-not-text`, `link-not-followed`) is
    /// in `problems`.
    /// - Throws: `AppDefinitionError` with code `folderUnreadable` when the folder doesn't exist or isn't a folder, `appNotFound` when
    ///   it has no file of an app, and `invalid` when all files together exceed a limit.
    public init(folder: String) throws(AppDefinitionError) {
        var collector = AppFileCollector()
        let root = FolderEntry.real(folder)
        // Each folder with those around it, by their real paths: a link to one of them would never end.
        var pending = [(path: "", around: Set([ExactText(root)]))]
        while let (relative, around) = pending.popLast() {
            let found = try Self.names(in: folder, relative: relative)
            for name in found.malformed {
                let path = relative.isEmpty ? name.repaired : relative + "/" + name.repaired
                let isNeeded = name.isFolder ? AppPaths.isEntered(path) : AppPaths.isRead(path)
                guard isNeeded || AppPaths.isKept(path) else { continue }
                let shown = relative.isEmpty ? name.shown : relative + "/" + name.shown
                collector.report(.nameNotText(shown, isNeeded: isNeeded))
            }
            for name in found.names {
                let path = relative.isEmpty ? name : relative + "/" + name
                let full = folder + "/" + path
                guard AppPaths.isEntered(path) || AppPaths.isRead(path) || AppPaths.isKept(path) else {
                    if relative.isEmpty { Self.noteMisnamed(name, in: folder, &collector) }
                    continue
                }
                switch FolderEntry(at: full, inside: root) {
                case .folder(let real) where AppPaths.isEntered(path) && !around.contains(ExactText(real)):
                    pending.append((path, around.union([ExactText(real)])))
                case .file(let size):
                    collector.add(path, size: size) {
                        FileManager.default.contents(atPath: full).map { [UInt8]($0) }
                    }
                case .refused(let reason):
                    collector.report(DefinitionProblem(.linkNotFollowed, severity: .warning, file: path, reason))
                case .other: collector.report(.notAFile(path))
                default: continue
                }
            }
        }
        self = try collector.files()
        if texts.isEmpty, problems.isEmpty { throw Self.noApp(in: folder) }
    }

    /// Reports a folder at the root whose name has the wrong capitals if it has files such as an app's.
    private static func noteMisnamed(_ name: String, in folder: String, _ collector: inout AppFileCollector) {
        guard AppPaths.meantFolder(of: name + "/.json") != nil, let inside = FolderNames(of: "\(folder)/\(name)") else {
            return
        }
        for file in inside.names { collector.noteFolder(of: "\(name)/\(file)") }
    }

    private static func names(in folder: String, relative: String) throws(AppDefinitionError) -> FolderNames {
        let path = relative.isEmpty ? folder : folder + "/" + relative
        if let names = FolderNames(of: path) { return names }
        let code = errno
        throw AppDefinitionError(
            code: .folderUnreadable,
            message: code == ENOENT ? "there is no folder \(path)" : "\(path): \(String(cString: strerror(code)))")
    }

    /// The error for a folder without an app. Many repositories have the app in a folder of their own, which is then named.
    private static func noApp(in folder: String) -> AppDefinitionError {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []  // it was read just before
        let inner = names.sorted().filter { name in
            ["realm_config.json", "root_config.json", "config.json", "stitch.json"].contains {
                FileManager.default.fileExists(atPath: "\(folder)/\(name)/\($0)")
            }
        }
        let hint = inner.isEmpty ? "" : "; try \(inner.map { "\(folder)/\($0)" }.joined(separator: " or "))"
        return AppDefinitionError(
            code: .appNotFound,
            message: "\(folder) has no app: an export has realm_config.json or config.json at its root\(hint)")
    }
}
