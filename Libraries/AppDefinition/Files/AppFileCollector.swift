import DocumentModel

/// Takes an app's files one by one, from a folder or an archive, within limits for their number and sizes.
struct AppFileCollector {
    /// The most files. The largest app that was seen has a few hundred.
    static let countLimit = 10_000

    private var texts: [ExactText: String] = [:]
    private var problems: [DefinitionProblem] = []
    private var total = 0
    private var count = 0

    /// - Parameters:
    ///   - size: the size that is known before the file is read, in bytes.
    ///   - read: the file's bytes; `nil` when it can't be read.
    mutating func add(_ path: String, size: Int, read: () -> [UInt8]?) {
        guard AppPaths.isRead(path) else { return }
        count += 1
        guard count <= Self.countLimit, total <= AppFiles.totalLimit else { return }
        guard size <= AppFiles.fileLimit else { return refuseSize(path, size) }
        guard let bytes = read() else {
            problems.append(
                DefinitionProblem(.fileUnreadable, file: path, "can't be read: check that this user may read it"))
            return
        }
        guard bytes.count <= AppFiles.fileLimit else { return refuseSize(path, bytes.count) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            problems.append(DefinitionProblem(.fileNotText, file: path, "isn't UTF-8: save it in that encoding"))
            return
        }
        total += bytes.count
        texts[path] = text
    }

    private mutating func refuseSize(_ path: String, _ size: Int) {
        problems.append(
            DefinitionProblem(.fileTooLarge, file: path, "it has \(size) bytes; the limit is \(AppFiles.fileLimit)"))
    }

    /// - Throws: `AppDefinitionError` with the problems of single files, and of the limits for all of them.
    func files() throws(AppDefinitionError) -> AppFiles {
        var problems = problems
        if total > AppFiles.totalLimit {
            problems.append(
                DefinitionProblem(
                    .fileTooLarge, file: "", "the app's files have more than \(AppFiles.totalLimit) bytes, the limit"))
        }
        if count > Self.countLimit {
            problems.append(
                DefinitionProblem(.fileTooLarge, file: "", "the app has more than \(Self.countLimit) files, the limit"))
        }
        guard problems.isEmpty else { throw AppDefinitionError(problems: problems) }
        return AppFiles(texts)
    }
}
