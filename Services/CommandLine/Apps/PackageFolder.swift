import AppDefinition
import Archives
import ChildProcesses
import Glibc

/// The packages in an app's folder: `functions/node_modules`, or an archive of it.
enum PackageFolder {
    /// - Throws: `AppDefinitionError`, `ArchiveError`; `UsageError` when there are both, or several archives.
    static func packages(of directory: String) throws -> AppPackages {
        let found = ([PackageCollector.folder] + PackageCollector.archives)
            .filter { access("\(directory)/\($0)", F_OK) == 0 }
        guard found.count <= 1 else {
            throw UsageError("there are packages in \(found.joined(separator: " and in ")): remove all but one")
        }
        guard let place = found.first else { return .none }
        guard place != PackageCollector.folder else { return try AppPackages.read(folder: directory) }
        var collector = PackageCollector()
        let limits = Archive.Limits(bytes: PackageCollector.totalLimit, entries: 10 * PackageCollector.countLimit)
        let files = try Archive.files(of: "\(directory)/\(place)", limits: limits) {
            PackageCollector.modulePath($0) != nil
        }
        for file in files {
            if let path = PackageCollector.modulePath(file.path) { try collector.add(path, file.bytes) }
        }
        return collector.packages
    }
}
