import Foundation
import Texts

/// `media-objects.txt`: a line for each object that the database refers to, with its key, a tab and its size in bytes. What the backup
/// lacks has another tab and why.
enum MediaInventory {
    /// Why a backup doesn't have an object.
    enum Loss: String {
        case missing, damaged
    }

    static func line(_ object: String, size: Int, lost: Loss?) -> String {
        "\(object)\t\(size)\(lost.map { "\t\($0.rawValue)" } ?? "")\n"
    }

    /// What is wrong with the bytes of an object's file, whose name has their SHA-256 (`app/3f/SHA-256-id`); `nil` if nothing is, or the
    /// name has none.
    /// - Throws: `ToolError` when the file can't be read.
    static func damage(of object: String, in directory: String) throws -> String? {
        let name = object.utf8.split(separator: UInt8(ascii: "/")).last ?? Substring(object).utf8
        let digest = name.prefix { $0 != UInt8(ascii: "-") }
        let isDigit: (UInt8) -> Bool = { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        guard digest.count == 64, digest.count < name.count, digest.allSatisfy(isDigit) else { return nil }
        let present = try FileDigest.sha256(of: "\(directory)/\(object)")
        return present.utf8.elementsEqual(digest) ? nil : "has the SHA-256 \(present), not the one of its name"
    }

    /// Compares the sizes of a backup's media with the inventory, and their bytes with the digests in their names.
    /// - Returns: the objects that the backup doesn't have as they were stored.
    /// - Throws: `ToolError` that names what has got lost since the backup was made, unless `acceptsLoss`.
    static func check(_ manifest: BackupManifest, in directory: String, acceptsLoss: Bool) throws -> Set<ExactText> {
        guard manifest.media.areCopied else { return [] }
        guard FileManager.default.fileExists(atPath: BackupManifest.media(in: directory)) else {
            throw ToolError(
                "\(BackupManifest.media(in: directory)) doesn't exist: the backup is incomplete. Nothing has changed")
        }
        // Backups of earlier versions have no sizes.
        guard manifest.media.haveSizes == true else { return [] }
        let file = BackupManifest.inventory(in: directory), media = BackupManifest.media(in: directory)
        // It isn't written where the database has no table of objects.
        let lines = (FileManager.default.contents(atPath: file) ?? Data()).split(separator: 0x0A)
        guard lines.count == manifest.media.objects else {
            throw ToolError("\(file) is damaged: it names \(lines.count) objects, not \(manifest.media.objects)")
        }
        var lost: Set<ExactText> = [], problems: [String] = []
        for line in lines {
            let fields = line.split(separator: 0x09).map { String(decoding: $0, as: UTF8.self) }
            guard fields.count == 2 || fields.count == 3, let size = Int(fields[1]) else {
                throw ToolError("\(file) is damaged: it has the line \(String(decoding: line, as: UTF8.self))")
            }
            let path = "\(media)/\(fields[0])"
            let found = (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int
            var problem = found == nil ? "doesn't exist" : nil
            if let found, found != size { problem = "has \(found) bytes, not \(size)" }
            if fields.count == 2, problem == nil { problem = try damage(of: fields[0], in: media) }
            if fields.count == 2, problem == nil { continue }
            lost.insert(ExactText(fields[0]))
            // Without one it was lost before.
            if fields.count == 2, let problem { problems.append("\(path) \(problem)") }
        }
        guard !problems.isEmpty else { return lost }
        let text = "\(problems.count) media of the backup are missing or damaged: \(problems[0])"
        guard acceptsLoss else {
            throw ToolError("\(text). Nothing has changed; with --accept-lost-media the others are restored")
        }
        Progress.line(text)
        return lost
    }
}
