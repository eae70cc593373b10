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

    /// Compares the sizes of a backup's media with the inventory.
    /// - Returns: the objects that the backup doesn't have as they were stored.
    /// - Throws: `ToolError` that names what has got lost since the backup was made, unless `acceptsLoss`.
    static func check(_ manifest: BackupManifest, in directory: String, acceptsLoss: Bool) throws -> Set<ExactText> {
        // Backups of earlier versions have no sizes.
        guard manifest.media.areCopied, manifest.media.haveSizes == true else { return [] }
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
            if fields.count == 2, found == size { continue }
            lost.insert(ExactText(fields[0]))
            guard fields.count == 2 else { continue }  // it was lost before
            problems.append(found.map { "\(path) has \($0) bytes, not \(size)" } ?? "\(path) doesn't exist")
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
