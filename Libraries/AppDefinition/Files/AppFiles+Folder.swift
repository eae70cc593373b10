import DocumentModel
import Foundation

extension AppFiles {
    /// The largest file that is read, in bytes.
    static let fileLimit = 4 << 20
    /// The largest total, in bytes: the definition is one row in Postgres.
    static let totalLimit = 32 << 20

    /// Folders whose contents aren't part of a definition: static sites, installed packages, tools' own files.
    private static let skipped: Set<String> = ["node_modules", ".git", ".mdb", ".idea", ".vscode", "hosting/files"]

    /// Reads an app's folder. Nothing is written, links aren't followed, and files that are neither `.json` nor `.js` are skipped.
    ///
    /// - Throws: `AppDefinitionError` with code `folderUnreadable` when the folder doesn't exist or isn't a folder, and with the
    ///   problems of single files (`file-unreadable`, `file-too-large`, `file-not-text`) otherwise.
    public init(folder: String) throws(AppDefinitionError) {
        var texts: [ExactText: String] = [:]
        var problems: [DefinitionProblem] = []
        var total = 0
        var pending = [""]
        while let relative = pending.popLast() {
            for name in try Self.names(in: folder, relative: relative) {
                let path = relative.isEmpty ? name : relative + "/" + name
                if Self.skipped.contains(name) || Self.skipped.contains(path) { continue }
                let full = folder + "/" + path
                let attributes = try? FileManager.default.attributesOfItem(atPath: full)  // nil: vanished meanwhile
                switch attributes?[.type] as? FileAttributeType {
                case .typeDirectory: pending.append(path)
                case .typeRegular where path.hasSuffix(".json") || path.hasSuffix(".js"):
                    do throws(DefinitionProblem) {
                        let text = try Self.text(of: full, path: path, size: attributes?[.size] as? Int ?? 0)
                        total += text.utf8.count
                        texts[path] = text
                    } catch {
                        problems.append(error)
                    }
                default: continue
                }
            }
        }
        if total > Self.totalLimit {
            problems.append(
                DefinitionProblem(
                    .fileTooLarge, file: "", "the folder's files have \(total) bytes; the limit is \(Self.totalLimit)"))
        }
        guard problems.isEmpty else { throw AppDefinitionError(problems: problems) }
        self.init(texts)
    }

    private static func names(in folder: String, relative: String) throws(AppDefinitionError) -> [String] {
        let path = relative.isEmpty ? folder : folder + "/" + relative
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            throw AppDefinitionError(code: .folderUnreadable, message: "there is no folder \(path)")
        } catch {
            throw AppDefinitionError(code: .folderUnreadable, message: "\(path): \(error.localizedDescription)")
        }
    }

    private static func text(of full: String, path: String, size: Int) throws(DefinitionProblem) -> String {
        guard size <= fileLimit else {
            throw DefinitionProblem(.fileTooLarge, file: path, "it has \(size) bytes; the limit is \(fileLimit)")
        }
        guard let bytes = FileManager.default.contents(atPath: full) else {
            throw DefinitionProblem(.fileUnreadable, file: path, "can't be read")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw DefinitionProblem(.fileNotText, file: path, "isn't UTF-8")
        }
        return text
    }
}
