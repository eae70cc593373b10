import DocumentModel

extension AppFiles {
    /// All files, byte for byte as they were read, sorted by path: those that services read, packages, and those that are only kept.
    public var original: [(path: String, bytes: [UInt8])] {
        var files = texts.mapValues { Array($0.utf8) }
        // Packages of an archive are in the archive, which is kept.
        if !PackageCollector.archives.contains(where: { otherFiles[$0] != nil }) {
            for (path, text) in packages.texts { files["\(PackageCollector.folder)/\(path.text)"] = Array(text.utf8) }
        }
        files.merge(otherFiles) { $1 }
        return files.keys.sorted().map { ($0.text, files[$0] ?? []) }
    }
}
