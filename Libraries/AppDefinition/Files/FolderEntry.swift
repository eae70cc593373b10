import DocumentModel
import Foundation

/// What is at a path of an app's folder. Links are followed as long as they lead to something inside the folder: what is outside of it isn't
/// part of the app, and a link must not read what its author couldn't.
enum FolderEntry {
    case file(size: Int)
    /// - Parameter real: its path without links.
    case folder(real: String)
    /// A link that isn't followed, and why.
    case refused(String)
    /// Something that an app doesn't have: a pipe, a socket, a device.
    case other
    /// It has just vanished.
    case nothing

    /// - Parameters:
    ///   - path: of the entry.
    ///   - root: the app's folder, without links.
    init(at path: String, inside root: String) {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)  // nil: vanished meanwhile
        guard attributes?[.type] as? FileAttributeType == .typeSymbolicLink else {
            self = Self.plain(attributes, path)
            return
        }
        let target = (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) ?? "?"  // vanished meanwhile
        guard let real = realpath(path, nil) else {
            self = .refused("this is a link to \(target), which doesn't exist: put the file or folder itself there")
            return
        }
        defer { free(real) }
        let place = String(cString: real)
        guard place.hasSameBytes(as: root) || place.startsWithBytes(of: root + "/") else {
            self = .refused(
                "this is a link to \(target), outside of the app's folder, and isn't followed: put the file or folder itself there"
            )
            return
        }
        self = Self.plain(try? FileManager.default.attributesOfItem(atPath: place), place)
    }

    private static func plain(_ attributes: [FileAttributeKey: Any]?, _ path: String) -> FolderEntry {
        switch attributes?[.type] as? FileAttributeType {
        case .typeRegular: .file(size: attributes?[.size] as? Int ?? 0)
        case .typeDirectory: .folder(real: real(path))
        case nil: .nothing
        default: .other
        }
    }

    /// A path without links; the path itself when there is nothing.
    static func real(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }
}

extension DefinitionProblem {
    /// A pipe, socket or device at a path where an app can have a file.
    static func notAFile(_ path: String) -> DefinitionProblem {
        DefinitionProblem(
            .fileUnreadable, severity: .warning, file: path,
            "this is no regular file (a pipe, socket or device), and isn't read: remove it, or put a file there")
    }
}
