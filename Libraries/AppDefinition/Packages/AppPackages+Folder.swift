import DocumentModel
import Foundation

extension AppPackages {
    /// Reads `functions/node_modules` of an app's folder. Links aren't followed. Without that folder there are no packages.
    /// - Parameter folder: the app's.
    /// - Throws: `AppDefinitionError` when they exceed a limit, or a file can't be read.
    public static func read(folder: String) throws(AppDefinitionError) -> AppPackages {
        let root = "\(folder)/\(PackageCollector.folder)"
        guard FileManager.default.fileExists(atPath: root) else { return .none }
        var collector = PackageCollector()
        var pending = [""]
        while let relative = pending.popLast() {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: root + "/" + relative)) ?? nil
            guard let names else { throw unreadable(relative) }
            for name in names.sorted() {
                let path = relative.isEmpty ? name : relative + "/" + name
                let attributes = try? FileManager.default.attributesOfItem(atPath: "\(root)/\(path)")  // nil: vanished
                switch attributes?[.type] as? FileAttributeType {
                case .typeDirectory: pending.append(path)
                case .typeRegular:
                    guard let place = PackageCollector.modulePath(path) else { continue }
                    guard let bytes = FileManager.default.contents(atPath: "\(root)/\(path)") else {
                        throw unreadable(path)
                    }
                    try collector.add(place, [UInt8](bytes))
                default: continue
                }
            }
        }
        return collector.packages
    }

    private static func unreadable(_ path: String) -> AppDefinitionError {
        AppDefinitionError(problems: [
            DefinitionProblem(
                .fileUnreadable, file: "\(PackageCollector.folder)/\(path)",
                "can't be read: check that this user may read it")
        ])
    }
}
