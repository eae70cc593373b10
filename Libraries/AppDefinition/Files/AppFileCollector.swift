import DocumentModel

/// Takes an app's files one by one, from a folder or an archive, within limits for their number and sizes.
struct AppFileCollector {
    /// The most files that are read. The largest app that was seen has a few hundred.
    static let countLimit = 10_000

    private var texts: [ExactText: String] = [:]
    /// What isn't read, and what is wrong with single files.
    private var rest = AppFiles()
    /// The folders that were reported as misnamed.
    private var misnamed: Set<ExactText> = []
    private var total = 0
    private var count = 0

    /// - Parameters:
    ///   - size: the size that is known before the file is read, in bytes.
    ///   - read: the file's bytes; `nil` when it can't be read.
    mutating func add(_ path: String, size: Int, read: () -> [UInt8]?) {
        if AppPaths.hasSecrets(path), AppPaths.isRead(path) || AppPaths.isKept(path) {
            return rest.problems.append(
                DefinitionProblem(
                    .secretInClear, severity: .warning, file: path,
                    "this file usually has secrets, so that it isn't read, and neither the app's history nor an export has it: delete it, since it may be in a backup or a repository, and set the secrets with `partita secret set`"
                ))
        }
        guard AppPaths.isRead(path) else {
            noteFolder(of: path)
            if AppPaths.isKept(path) { rest.keep(path, size: size, read: read) }
            return
        }
        count += 1
        guard count <= Self.countLimit, total <= AppFiles.totalLimit else { return }
        guard size <= AppFiles.fileLimit else { return refuseSize(path, size) }
        guard let bytes = read() else { return refuse(path) }
        guard bytes.count <= AppFiles.fileLimit else { return refuseSize(path, bytes.count) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            rest.problems.append(
                DefinitionProblem(.fileNotText, file: path, "isn't UTF-8: save it in that encoding"))
            return
        }
        total += bytes.count
        texts[path] = text
    }

    /// Reports the folder of a file that isn't read if its name has the wrong capitals.
    mutating func noteFolder(of path: String) {
        guard let meant = AppPaths.meantFolder(of: path), let folder = path.splitAtBytes("/").first,
            misnamed.insert(ExactText(folder)).inserted
        else { return }
        report(
            DefinitionProblem(
                .folderMisnamed, severity: .warning, file: folder,
                "nothing in it is read: if it is the app's, rename it to \(meant)"))
    }

    mutating func report(_ problem: DefinitionProblem) { rest.problems.append(problem) }

    private mutating func refuse(_ path: String) {
        rest.problems.append(
            DefinitionProblem(.fileUnreadable, file: path, "can't be read: check that this user may read it"))
    }

    private mutating func refuseSize(_ path: String, _ size: Int) {
        rest.problems.append(
            DefinitionProblem(
                .fileTooLarge, file: path,
                "it has \(size) bytes; the limit is \(AppFiles.fileLimit): make it smaller, or divide it"))
    }

    /// The files, with what is wrong with single ones as their problems: it must not hide what is wrong with the others.
    /// - Throws: `AppDefinitionError` when all of them together exceed a limit.
    func files() throws(AppDefinitionError) -> AppFiles {
        var limits: [DefinitionProblem] = []
        if total > AppFiles.totalLimit {
            limits.append(
                DefinitionProblem(
                    .fileTooLarge, file: "",
                    "the app's files have more than \(AppFiles.totalLimit) bytes, the limit: remove what the app doesn't need"
                ))
        }
        if count > Self.countLimit {
            limits.append(
                DefinitionProblem(
                    .fileTooLarge, file: "",
                    "the app has more than \(Self.countLimit) files, the limit: remove what the app doesn't need"))
        }
        guard limits.isEmpty else { throw AppDefinitionError(problems: rest.problems + limits) }
        var files = rest
        files.texts = texts
        return files
    }
}
