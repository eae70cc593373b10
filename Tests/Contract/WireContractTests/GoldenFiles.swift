import Foundation

/// The golden files beside this one.
enum GoldenFiles {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Golden")

    /// Names without their ending.
    static func names() throws -> Set<String> {
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return Set(files.map { $0.deletingPathExtension().lastPathComponent })
    }

    /// The bytes of a file, without the final newline that editors add.
    static func bytes(_ name: String) throws -> [UInt8] {
        var bytes = [UInt8](try Data(contentsOf: folder.appending(path: "\(name).json")))
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        return bytes
    }

    /// The specification of the wire.
    static func specification() throws -> String {
        var root = folder
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let page = root.appending(path: "Libraries/SyncProtocol/SyncProtocol.docc/SyncProtocol.md")
        return try String(contentsOf: page, encoding: .utf8)
    }
}
